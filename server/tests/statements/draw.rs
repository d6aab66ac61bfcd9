//! Draws statements: joins, groups, windows, set operations, common table expressions and subqueries.

use datafusion::arrow::datatypes::DataType;

use crate::compare::Determined;
use crate::expression::{Column, Draw, Scope, Trust, Vocabulary};
use crate::functions::{Family, Function};
use crate::hostile::hostile;
use crate::random::Random;
use crate::relation::{Relation, named};

/// Aggregates whose value depends on the order of the rows.
const ORDERED: [&str; 7] = [
    "array_agg",
    "string_agg",
    "listagg",
    "first_value",
    "last_value",
    "nth_value",
    "quantile_cont",
];

pub(crate) struct Statement {
    pub(crate) sql: String,
    /// The statement without its limit, and what of its answer is determined. `None` if nobody knows the
    /// right answer.
    pub(crate) expected: Option<(String, Determined)>,
}

pub(crate) struct Query {
    pub(crate) sql: String,
    pub(crate) columns: Vec<Column>,
}

/// The statement with this number.
pub(crate) fn draw(seed: u64, number: u64, vocabulary: &Vocabulary) -> Statement {
    let mut random = Random::new(seed, number);
    if random.chance(12) {
        let sql = hostile(&mut random, &vocabulary.functions);
        return Statement {
            sql,
            expected: None,
        };
    }
    let is_extreme = random.chance(30);
    let mut draw = Draw {
        random,
        vocabulary,
        is_extreme,
        num_names: 0,
    };
    draw.statement()
}

impl Draw<'_> {
    fn statement(&mut self) -> Statement {
        let query = self.query(2);
        let mut sql = query.sql;
        let mut determined = Determined::default();
        let columns = query.columns.iter().enumerate();
        determined.loose = columns
            .clone()
            .filter(|(_, column)| column.trust == Trust::Loose)
            .map(|(index, _)| index)
            .collect();
        if self.random.chance(50) {
            let mut keys = Vec::new();
            for (index, column) in columns {
                if column.trust == Trust::Exact
                    && column.family().is_ordered()
                    && self.random.chance(60)
                {
                    let descending = self.random.chance(40);
                    let direction = if descending { " desc" } else { "" };
                    keys.push(format!("{}{direction}", index + 1));
                    determined.order.push((index, descending));
                }
            }
            if !keys.is_empty() {
                sql += &format!(" order by {}", keys.join(", "));
            }
        }
        let unlimited = sql.clone();
        if self.random.chance(40) {
            let limit = *self.random.pick(&[0, 1, 10, 1000, 60_000]);
            determined.limit = Some(limit);
            sql += &format!(" limit {limit}");
            if self.random.chance(40) {
                determined.first_row = *self.random.pick(&[1, 7, 5000]);
                sql += &format!(" offset {}", determined.first_row);
            }
        }
        if self.is_extreme && self.random.chance(10) {
            sql = format!(
                "{} {sql}",
                self.random
                    .pick(&["explain", "explain analyze", "describe"])
            );
        }
        let expected = (!self.is_extreme).then_some((unlimited, determined));
        Statement { sql, expected }
    }

    pub(crate) fn query(&mut self, depth: usize) -> Query {
        match self.random.below(8) {
            0 if depth > 0 => self.set_operation(depth),
            1 if depth > 0 => self.with(depth),
            _ => self.select(depth),
        }
    }

    fn select(&mut self, depth: usize) -> Query {
        let relation = self.relation(depth);
        let filter = if self.random.chance(40) {
            format!(" where {}", self.filter(&relation.scope))
        } else {
            String::new()
        };
        match self.random.below(10) {
            0..4 => self.grouped(&relation, &filter),
            4..6 if relation.scope.key.is_some() || self.is_extreme => {
                self.windows(&relation, &filter)
            }
            _ => self.plain(&relation, &filter),
        }
    }

    fn filter(&mut self, scope: &Scope) -> String {
        if self.random.chance(80) {
            return self.checked_boolean(scope);
        }
        let key = self.column(scope);
        let not = *self.random.pick(&["", "not "]);
        let bound = self.random.below(500);
        match self.random.below(3) {
            0 => format!(
                "{key}::varchar {not}in (select l_orderkey::varchar from lineitem where l_partkey < {bound})"
            ),
            1 => format!(
                "{not}exists (select 1 from lineitem s where s.l_orderkey::varchar = {key}::varchar and s.l_suppkey < {bound})"
            ),
            _ => format!("length({key}::varchar) >= (select min(length(utf8)) from every_type)"),
        }
    }

    pub(crate) fn checked_boolean(&mut self, scope: &Scope) -> String {
        match self.checked(scope, |draw| draw.boolean(scope, 2)) {
            (sql, DataType::Boolean) => sql,
            _ => "true".to_owned(),
        }
    }

    fn plain(&mut self, relation: &Relation, filter: &str) -> Query {
        let scope = &relation.scope;
        let count = if self.random.chance(4) {
            60
        } else {
            1 + self.random.below(5)
        };
        let (mut items, mut columns) = (Vec::new(), Vec::new());
        for _ in 0..count {
            // A value that is not exact may be passed on, but not be used.
            let column = match scope.columns.as_slice() {
                [] => None,
                columns => Some(self.random.pick(columns).clone()),
            };
            let (sql, data_type, trust) = match column {
                Some(column) if self.random.chance(30) => {
                    (column.sql(), column.data_type, column.trust)
                }
                _ => {
                    let (sql, data_type) = self.checked(scope, |draw| draw.any(scope, 3));
                    (sql, data_type, Trust::Exact)
                }
            };
            self.add(&mut items, &mut columns, &sql, data_type, trust);
        }
        let is_exact = columns.iter().all(|column| column.trust == Trust::Exact);
        let distinct = if is_exact && self.random.chance(15) {
            "distinct "
        } else {
            ""
        };
        let sql = format!(
            "select {distinct}{} from {}{filter}",
            items.join(", "),
            relation.sql
        );
        Query { sql, columns }
    }

    fn add(
        &mut self,
        items: &mut Vec<String>,
        columns: &mut Vec<Column>,
        sql: &str,
        data_type: DataType,
        trust: Trust,
    ) {
        let name = self.name("c");
        items.push(format!("{sql} as {name}"));
        columns.push(Column {
            relation: String::new(),
            name,
            data_type,
            trust,
        });
    }

    fn grouped(&mut self, relation: &Relation, filter: &str) -> Query {
        let scope = &relation.scope;
        let (mut items, mut columns, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.random.below(4) {
            let (key, data_type) = self.checked(scope, |draw| {
                if draw.random.chance(70) {
                    draw.column(scope)
                } else {
                    draw.any(scope, 2)
                }
            });
            // DataFusion drops a constant from the ORDER BY, although CUBE and ROLLUP make it null in some groups.
            let is_constant = !key.contains(".\"");
            if !keys.contains(&key) && !is_constant {
                self.add(&mut items, &mut columns, &key, data_type, Trust::Exact);
                keys.push(key);
            }
        }
        for _ in 0..=self.random.below(3) {
            let (sql, data_type, trust) = self.aggregate(scope);
            self.add(&mut items, &mut columns, &sql, data_type, trust);
        }
        let list = keys.join(", ");
        let group = match self.random.below(7) {
            _ if keys.is_empty() => String::new(),
            0 => format!(" group by rollup({list})"),
            1 => format!(" group by cube({list})"),
            2 => format!(" group by grouping sets (({list}), ({}), ())", keys[0]),
            _ => format!(" group by {list}"),
        };
        let having = if self.random.chance(20) {
            " having count(*) > 1"
        } else {
            ""
        };
        let sql = format!(
            "select {} from {}{filter}{group}{having}",
            items.join(", "),
            relation.sql
        );
        Query { sql, columns }
    }

    fn aggregate(&mut self, scope: &Scope) -> (String, DataType, Trust) {
        let functions = &self.vocabulary.functions;
        let mut name = "";
        let (sql, data_type) = self.checked(scope, |draw| {
            let function = draw.random.pick(&functions.aggregate);
            name = &function.name;
            draw.aggregate_call(function, scope)
        });
        (sql, data_type.clone(), self.trust(name, &data_type, scope))
    }

    fn trust(&self, name: &str, data_type: &DataType, scope: &Scope) -> Trust {
        let is_approximate = name.starts_with("approx") && name != "approx_distinct";
        if is_approximate || name == "any_value" {
            Trust::Loose
        } else if Family::of(data_type) != Family::Float || ["min", "max"].contains(&name) {
            Trust::Exact
        } else if scope.is_wild {
            Trust::Loose
        } else {
            Trust::Inexact
        }
    }

    fn aggregate_call(&mut self, function: &Function, scope: &Scope) -> String {
        let arguments = if function.name == "count" && self.random.chance(50) {
            "*".to_owned()
        } else {
            self.arguments(function, scope, 1)
        };
        let is_ordered = ORDERED.contains(&&*function.name);
        let order = if is_ordered && (!self.is_extreme || self.random.chance(50)) {
            // The arguments are no literals, or they would be positions.
            format!(
                " order by {}",
                arguments.split(", ").next().unwrap_or_default()
            )
        } else {
            String::new()
        };
        let distinct = if arguments != "*" && self.random.chance(15) {
            "distinct "
        } else {
            ""
        };
        let filter = if self.random.chance(15) {
            format!(" filter (where {})", self.boolean(scope, 1))
        } else {
            String::new()
        };
        format!("{}({distinct}{arguments}{order}){filter}", function.name)
    }

    fn windows(&mut self, relation: &Relation, filter: &str) -> Query {
        let scope = &relation.scope;
        let functions = &self.vocabulary.functions;
        let key = scope
            .key
            .clone()
            .unwrap_or_else(|| vec![self.column(scope)]);
        let (mut items, mut columns) = (key.clone(), Vec::new());
        for (item, column) in items.iter_mut().zip(&key) {
            let name = self.name("c");
            let found = scope.columns.iter().find(|found| found.sql() == *column);
            let data_type = found.map_or(DataType::Int64, |found| found.data_type.clone());
            *item += &format!(" as {name}");
            columns.push(Column {
                relation: String::new(),
                name,
                data_type,
                trust: Trust::Exact,
            });
        }
        for _ in 0..=self.random.below(2) {
            let mut name = "";
            let (sql, data_type) = self.checked(scope, |draw| {
                let all = if draw.random.chance(50) {
                    &functions.window
                } else {
                    &functions.aggregate
                };
                let function = draw.random.pick(all);
                name = &function.name;
                let call = format!("{}({})", function.name, draw.arguments(function, scope, 1));
                let partition = if draw.random.chance(50) {
                    format!("partition by {}", draw.partition(scope))
                } else {
                    String::new()
                };
                let frames = [
                    "",
                    "",
                    "rows between 3 preceding and 1 following",
                    "rows unbounded preceding",
                    "rows between unbounded preceding and unbounded following",
                    "groups between 1 preceding and current row",
                ];
                let frame = *draw.random.pick(&frames);
                let descending = *draw.random.pick(&["", " desc"]);
                format!(
                    "{call} over ({partition} order by {}{descending} {frame})",
                    key.join(", ")
                )
            });
            let trust = self.trust(name, &data_type, scope);
            self.add(&mut items, &mut columns, &sql, data_type, trust);
        }
        let sql = format!("select {} from {}{filter}", items.join(", "), relation.sql);
        Query { sql, columns }
    }

    /// A column; floats plus 0, because -0 and 0 are one partition of the program, and two of a plain DataFusion.
    fn partition(&mut self, scope: &Scope) -> String {
        let column = self.column(scope);
        let mut columns = scope.columns.iter();
        let is_float = columns.any(|found| found.sql() == column && found.data_type.is_floating());
        if is_float { column + " + 0" } else { column }
    }

    fn set_operation(&mut self, depth: usize) -> Query {
        let first = self.select(depth - 1);
        let relation = self.relation(0);
        let scope = &relation.scope;
        let mut items = Vec::new();
        for column in &first.columns {
            let family = column.family();
            let (mut sql, data_type) = self.checked(scope, |draw| draw.value(scope, family, 1));
            if data_type != column.data_type {
                sql = format!("arrow_cast({sql}, '{}')", column.data_type);
            }
            items.push(format!("{sql} as {}", column.name));
        }
        let is_exact = first
            .columns
            .iter()
            .all(|column| column.trust == Trust::Exact);
        let operators = [
            "union all",
            "union",
            "intersect",
            "except",
            "intersect all",
            "except all",
        ];
        let operator = if is_exact {
            *self.random.pick(&operators)
        } else {
            operators[0]
        };
        let sql = format!(
            "{} {operator} select {} from {}",
            first.sql,
            items.join(", "),
            relation.sql
        );
        let name = self.name("u");
        let sql = format!("select * from ({sql}) {name}");
        Query {
            sql,
            columns: first.columns,
        }
    }

    fn with(&mut self, depth: usize) -> Query {
        let inner = self.query(depth - 1);
        let name = self.name("w");
        let relation = self.joined_to(named(&name, &name, inner.columns), 0);
        let outer = self.plain(&relation, "");
        let sql = format!("with {name} as ({}) {}", inner.sql, outer.sql);
        Query {
            sql,
            columns: outer.columns,
        }
    }
}
