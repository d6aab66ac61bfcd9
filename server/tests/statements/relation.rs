//! Draws what stands in FROM: tables, joins and subqueries.

use datafusion::arrow::datatypes::DataType;

use crate::expression::{Column, Draw, Scope, Trust};
use crate::functions::{FAMILIES, Family};

/// Arrow's `take` gives rows without a partner in an outer join values of this column instead of nulls, so the
/// answer depends on the batches.
const WRONG_IN_JOINS: &str = "run_end_encoded";

/// Products of more pairs of rows are drawn only where nobody waits for the right answer.
const MAX_PAIRS: usize = 2_000_000;

/// A part of FROM.
pub(crate) struct Relation {
    pub(crate) sql: String,
    pub(crate) scope: Scope,
    pub(crate) num_rows: usize,
}

impl Draw<'_> {
    pub(crate) fn relation(&mut self, depth: usize) -> Relation {
        if depth == 0 || self.random.chance(40) {
            return self.base();
        }
        if self.random.chance(30) {
            let inner = self.query(depth - 1);
            let name = self.name("d");
            return named(&format!("({}) as {name}", inner.sql), &name, inner.columns);
        }
        let left = self.relation(depth - 1);
        self.joined_to(left, depth - 1)
    }

    fn base(&mut self) -> Relation {
        let name = self.name("t");
        let (sql, key, num_rows): (_, &[&str], _) = match self.random.below(10) {
            0..2 => (
                format!("lineitem as {name}"),
                &["l_orderkey", "l_linenumber"],
                20_000,
            ),
            2..6 => {
                let bound = 1 + self.random.below(300);
                let sql = format!("(select * from lineitem where l_orderkey < {bound}) as {name}");
                (sql, &["l_orderkey", "l_linenumber"], 300)
            }
            6..9 => (format!("every_type as {name}"), &["row"], 24),
            _ => return self.small(&name),
        };
        let is_wild = key[0] == "row";
        let schema = if is_wild {
            &self.vocabulary.every_type
        } else {
            &self.vocabulary.lineitem
        };
        let is_extreme = self.is_extreme;
        let fields = schema.fields().iter();
        let fields = fields.filter(|field| is_extreme || field.name() != WRONG_IN_JOINS);
        let columns = fields.map(|field| column(&name, field.name(), field.data_type().clone()));
        let scope = Scope {
            columns: columns.collect(),
            key: Some(key.iter().map(|key| format!("{name}.\"{key}\"")).collect()),
            is_wild,
        };
        Relation {
            sql,
            scope,
            num_rows,
        }
    }

    /// VALUES, or a table function.
    fn small(&mut self, name: &str) -> Relation {
        let functions = &self.vocabulary.functions;
        let families = [0, 1].map(|_| *self.random.pick(&FAMILIES));
        let empty = Scope {
            columns: Vec::new(),
            key: None,
            is_wild: true,
        };
        let sql = match self.random.pick(&functions.table).as_str() {
            function @ ("range" | "generate_series") if self.random.chance(60) => {
                let end = if self.is_extreme {
                    self.literal(Family::Int)
                } else {
                    "40".to_owned()
                };
                let column = column(name, "value", DataType::Int64);
                let scope = Scope {
                    key: Some(vec![column.sql()]),
                    columns: vec![column],
                    is_wild: true,
                };
                return Relation {
                    sql: format!("{function}(1, {end}) as {name}"),
                    scope,
                    num_rows: 40,
                };
            }
            _ => {
                let row = |draw: &mut Self| {
                    let values = families.map(|family| draw.literal(family));
                    format!("({})", values.join(", "))
                };
                let (a, b) = (row(self), row(self));
                format!("(values {a}, {b}) as {name}(a, b)")
            }
        };
        let [a, b] = families.map(|family| {
            let mut literal = self.literal(family);
            while literal == "null" {
                literal = self.literal(family);
            }
            self.checked(&empty, |_| literal.clone()).1
        });
        let columns = vec![column(name, "a", a), column(name, "b", b)];
        Relation {
            sql,
            scope: Scope { columns, ..empty },
            num_rows: 2,
        }
    }

    pub(crate) fn joined_to(&mut self, left: Relation, depth: usize) -> Relation {
        let right = self.relation(depth);
        let num_pairs = left.num_rows.saturating_mul(right.num_rows);
        let equal = |draw: &mut Self| {
            let pairs: Vec<(&Column, &Column)> = left
                .scope
                .columns
                .iter()
                .flat_map(|a| right.scope.columns.iter().map(move |b| (a, b)))
                .filter(|(a, b)| {
                    a.data_type == b.data_type
                        && a.family().is_ordered()
                        && a.trust == Trust::Exact
                        && b.trust == Trust::Exact
                })
                .collect();
            (!pairs.is_empty()).then(|| {
                let (a, b) = *draw.random.pick(&pairs);
                format!("{} = {}", a.sql(), b.sql())
            })
        };
        let is_small = num_pairs <= MAX_PAIRS || self.is_extreme;
        let condition = match equal(self) {
            Some(condition) if !is_small || self.random.chance(75) => Some(condition),
            _ if is_small => None,
            _ => return left,
        };
        let kinds = [
            "join",
            "left join",
            "right join",
            "full join",
            "left semi join",
            "left anti join",
            "right semi join",
            "right anti join",
        ];
        let kind = *self.random.pick(&kinds);
        let mut scope = left.scope.clone();
        scope.columns.extend(right.scope.columns.iter().cloned());
        let (join, condition) = match condition {
            Some(condition) if self.random.chance(20) => {
                let more = self.checked_boolean(&scope);
                (kind, format!("{condition} and {more}"))
            }
            Some(condition) => (kind, condition),
            None if self.random.chance(50) => (kind, self.checked_boolean(&scope)),
            None => ("cross join", String::new()),
        };
        let on = if condition.is_empty() {
            String::new()
        } else {
            format!(" on {condition}")
        };
        let sql = if right.sql.contains(" join ") {
            format!("{} {join} ({}){on}", left.sql, right.sql)
        } else {
            format!("{} {join} {}{on}", left.sql, right.sql)
        };
        let scope = match join {
            "left semi join" | "left anti join" => left.scope,
            "right semi join" | "right anti join" => right.scope,
            _ => {
                let keys = left.scope.key.zip(right.scope.key);
                scope.key = keys.map(|(left, right)| [left, right].concat());
                scope.is_wild |= right.scope.is_wild;
                scope
            }
        };
        // Columns that are joined usually are keys of one of the tables.
        let num_rows = if on.contains(" = ") {
            left.num_rows.max(right.num_rows) * 4
        } else {
            num_pairs
        };
        Relation {
            sql,
            scope,
            num_rows,
        }
    }
}

fn column(relation: &str, name: &str, data_type: DataType) -> Column {
    Column {
        relation: relation.to_owned(),
        name: name.to_owned(),
        data_type,
        trust: Trust::Exact,
    }
}

/// A subquery or common table expression of this name.
pub(crate) fn named(sql: &str, name: &str, columns: Vec<Column>) -> Relation {
    let columns: Vec<Column> = columns
        .into_iter()
        .map(|column| Column {
            relation: name.to_owned(),
            ..column
        })
        .collect();
    let has_key = columns
        .iter()
        .all(|column| column.trust == Trust::Exact && column.family().is_ordered());
    let key = has_key.then(|| columns.iter().map(Column::sql).collect());
    let scope = Scope {
        columns,
        key,
        is_wild: true,
    };
    Relation {
        sql: sql.to_owned(),
        scope,
        num_rows: 1000,
    }
}
