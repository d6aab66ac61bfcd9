//! Draws expressions.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, TableReference};
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::prelude::SessionContext;

use crate::functions::{FAMILIES, Family, Function, Functions};
use crate::random::Random;

/// How often an expression that the planner refuses is drawn again.
const ATTEMPTS: usize = 8;

/// Functions that use the first row's format for all rows of a batch, if the other argument is constant. So the
/// answer depends on the batches.
const WRONG: [&str; 2] = ["to_char", "date_format"];

/// How far a value is determined by the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trust {
    Exact,
    /// Only nearly, because its order of addition is open. No other value may depend on it.
    Inexact,
    /// Not at all.
    Loose,
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) relation: String,
    pub(crate) name: String,
    pub(crate) data_type: DataType,
    pub(crate) trust: Trust,
}

impl Column {
    pub(crate) fn sql(&self) -> String {
        format!("{}.\"{}\"", self.relation, self.name)
    }

    pub(crate) fn family(&self) -> Family {
        Family::of(&self.data_type)
    }
}

/// The columns that an expression may use.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) columns: Vec<Column>,
    /// Columns that together tell rows apart, except equal ones.
    pub(crate) key: Option<Vec<String>>,
    /// Whether it has extreme floats, whose sums depend on the order of addition.
    pub(crate) is_wild: bool,
}

impl Scope {
    fn schema(&self) -> DFSchema {
        let fields = self.columns.iter().map(|column| {
            let field = Field::new(&column.name, column.data_type.clone(), true);
            (
                Some(TableReference::bare(&*column.relation)),
                Arc::new(field),
            )
        });
        DFSchema::new_with_metadata(fields.collect(), HashMap::new()).unwrap()
    }
}

/// What statements are made of.
pub(crate) struct Vocabulary {
    /// It plans expressions.
    pub(crate) context: SessionContext,
    pub(crate) functions: Functions,
    pub(crate) lineitem: SchemaRef,
    pub(crate) every_type: SchemaRef,
}

pub(crate) struct Draw<'a> {
    pub(crate) random: Random,
    pub(crate) vocabulary: &'a Vocabulary,
    /// Whether to draw arguments that are costly or wrong; then nobody knows the right answer.
    pub(crate) is_extreme: bool,
    pub(crate) num_names: usize,
}

impl Draw<'_> {
    pub(crate) fn name(&mut self, prefix: &str) -> String {
        self.num_names += 1;
        format!("{prefix}{}", self.num_names)
    }

    /// An expression that can be planned, with its type. A literal if none of several attempts can.
    pub(crate) fn checked(
        &mut self,
        scope: &Scope,
        mut draw: impl FnMut(&mut Self) -> String,
    ) -> (String, DataType) {
        let schema = scope.schema();
        for _ in 0..ATTEMPTS {
            let sql = draw(self);
            if let Some(data_type) = self.type_of(&sql, &schema) {
                return (sql, data_type);
            }
            if self.is_extreme && self.random.chance(10) {
                return (sql, DataType::Int64);
            }
        }
        ("7".to_owned(), DataType::Int64)
    }

    /// The type of an expression, if it can be planned.
    fn type_of(&self, sql: &str, schema: &DFSchema) -> Option<DataType> {
        let context = &self.vocabulary.context;
        let expr = context.parse_sql_expr(sql, schema).ok()?;
        let data_type = expr.get_type(schema).ok()?;
        let is_scalar = !expr
            .exists(|part| {
                Ok(matches!(
                    part,
                    Expr::AggregateFunction(_) | Expr::WindowFunction(_)
                ))
            })
            .ok()?;
        if is_scalar && !self.is_extreme {
            // Finds types that cannot be coerced.
            context.create_physical_expr(expr, schema).ok()?;
        }
        Some(data_type)
    }

    /// An expression of any type.
    pub(crate) fn any(&mut self, scope: &Scope, depth: usize) -> String {
        if depth == 0 || self.random.chance(25) {
            let family = *self.random.pick(&FAMILIES);
            return if self.random.chance(20) {
                self.literal(family)
            } else {
                self.column(scope)
            };
        }
        match self.random.below(12) {
            0..6 => self.call(scope, depth - 1),
            6 => self.boolean(scope, depth - 1),
            7 => self.cast(scope, depth - 1),
            8 => {
                let list = self.value(scope, Family::List, depth - 1);
                match self.vocabulary.functions.higher_order.as_slice() {
                    [] => list,
                    names => {
                        let name = self.random.pick(names).clone();
                        let test = *self.random.pick(&["x is null", "x", "x = 1", "[x]"]);
                        format!("{name}({list}, x -> {test})")
                    }
                }
            }
            9 => {
                let family = self.family_of_column(scope);
                let [a, b] = [0, 1].map(|_| self.value(scope, family, depth - 1));
                let condition = self.boolean(scope, depth - 1);
                format!("case when {condition} then {a} else {b} end")
            }
            _ => {
                let family = self.family_of_column(scope);
                let [a, b] = [0, 1].map(|_| self.value(scope, family, depth - 1));
                let operators = ["+", "-", "*", "/", "%", "||", "&", "|", "#", "<<", "->"];
                format!("({a} {} {b})", self.random.pick(&operators))
            }
        }
    }

    /// An expression that is probably of this family.
    pub(crate) fn value(&mut self, scope: &Scope, family: Family, depth: usize) -> String {
        let columns: Vec<String> = scope
            .columns
            .iter()
            .filter(|column| column.family() == family && column.trust == Trust::Exact)
            .map(Column::sql)
            .collect();
        match self.random.below(10) {
            0..6 if !columns.is_empty() => self.random.pick(&columns).clone(),
            6 if depth > 0 => {
                let [a, b] = [0, 1].map(|_| self.value(scope, family, depth - 1));
                format!("coalesce({a}, {b})")
            }
            7 if depth > 0 => self.call(scope, depth - 1),
            8 if depth > 0 && family == Family::Int => {
                let text = self.value(scope, Family::Text, depth - 1);
                format!("length({text})")
            }
            _ => self.literal(family),
        }
    }

    pub(crate) fn boolean(&mut self, scope: &Scope, depth: usize) -> String {
        let family = self.family_of_column(scope);
        let [a, b, c] = [0, 1, 2].map(|_| self.value(scope, family, depth));
        match self.random.below(9) {
            0 => format!("{a} is null"),
            1 => format!("{a} between {b} and {c}"),
            2 => format!("{a} in ({b}, {c}, null)"),
            3 => format!("{a} is distinct from {b}"),
            4 => {
                let text = self.value(scope, Family::Text, depth);
                let pattern = self.literal(Family::Text);
                let operator = *self
                    .random
                    .pick(&["like", "ilike", "~", "not like", "similar to"]);
                format!("{text} {operator} {pattern}")
            }
            5 if depth > 0 => {
                let [a, b] = [0, 1].map(|_| self.boolean(scope, depth - 1));
                let operator = *self.random.pick(&["and", "or", "and not"]);
                format!("({a} {operator} {b})")
            }
            _ => {
                let operator = *self.random.pick(&["=", "<>", "<", "<=", ">", ">="]);
                format!("{a} {operator} {b}")
            }
        }
    }

    /// A call of a scalar function.
    fn call(&mut self, scope: &Scope, depth: usize) -> String {
        let functions = &self.vocabulary.functions;
        let function = self.random.pick(&functions.scalar);
        let is_known = function.is_immutable && !WRONG.contains(&&*function.name);
        if !is_known && !self.is_extreme {
            return self.column(scope);
        }
        let arguments = self.arguments(function, scope, depth);
        format!("{}({arguments})", function.name)
    }

    pub(crate) fn arguments(&mut self, function: &Function, scope: &Scope, depth: usize) -> String {
        let families = if function.signatures.is_empty() || self.random.chance(10) {
            let count = self.random.below(4);
            let family = *self.random.pick(&FAMILIES);
            let is_uniform = self.random.chance(50);
            (0..=count)
                .map(|_| {
                    if is_uniform {
                        family
                    } else {
                        *self.random.pick(&FAMILIES)
                    }
                })
                .collect()
        } else {
            self.random.pick(&function.signatures).clone()
        };
        let arguments: Vec<String> = families
            .into_iter()
            .map(|family| self.value(scope, family, depth))
            .collect();
        arguments.join(", ")
    }

    fn cast(&mut self, scope: &Scope, depth: usize) -> String {
        let value = self.any(scope, depth);
        let name = *self.random.pick(&["cast", "try_cast"]);
        let types = [
            "int",
            "bigint",
            "smallint",
            "tinyint unsigned",
            "double",
            "real",
            "decimal(20, 3)",
            "varchar",
            "date",
            "timestamp",
            "time",
            "boolean",
            "bytea",
            "interval",
            "varchar[]",
        ];
        if self.random.chance(20) {
            let types = [
                "Utf8View",
                "LargeUtf8",
                "Dictionary(Int8, Utf8)",
                "Duration(ns)",
                "Float16",
            ];
            return format!("arrow_cast({value}, '{}')", self.random.pick(&types));
        }
        format!("{name}({value} as {})", self.random.pick(&types))
    }

    pub(crate) fn column(&mut self, scope: &Scope) -> String {
        let exact = scope
            .columns
            .iter()
            .filter(|column| column.trust == Trust::Exact);
        let exact: Vec<String> = exact.map(Column::sql).collect();
        match exact.as_slice() {
            [] => "1".to_owned(),
            columns => self.random.pick(columns).clone(),
        }
    }

    fn family_of_column(&mut self, scope: &Scope) -> Family {
        match scope.columns.as_slice() {
            [] => Family::Int,
            columns => self.random.pick(columns).family(),
        }
    }

    pub(crate) fn literal(&mut self, family: Family) -> String {
        if self.random.chance(5) {
            return "null".to_owned();
        }
        if self.is_extreme && self.random.chance(25) {
            let values = [
                "9223372036854775807",
                "-9223372036854775808",
                "2000000000",
                "-1",
                "0",
                "65536",
                "18446744073709551615",
                "1e308",
                "-0.0",
                "'NaN'::double",
                "'inf'::double",
                "99999999999999999999999999999999999999",
                "''",
                "repeat('x', 1000000)",
                "repeat('(', 5000)",
                "'\u{202e}👩‍👩‍👧‍👦e\u{301}'",
                "'%'",
                "'(a+)+$'",
                "x'00'",
                "date '9999-12-31'",
                "date '0001-01-01'",
                "timestamp '2262-04-11 23:47:16'",
                "interval '178956970 years'",
                "range(0, 100000)",
                "array_repeat(1, 1000000)",
                "[[[]]]",
                "arrow_cast(null, 'List(Int64)')",
                "named_struct('a', null)",
                "array_repeat('x', -1)",
            ];
            return (*self.random.pick(&values)).to_owned();
        }
        let values: &[&str] = match family {
            Family::Bool => &["true", "false"],
            Family::Int => &["0", "1", "-1", "2", "3", "7", "12", "100", "1996"],
            Family::Float => &[
                "0.5::double",
                "-1.5::double",
                "2::double",
                "1e3",
                "0.0::double",
            ],
            Family::Decimal => &["0.05", "12.34", "-7.000", "cast(3 as decimal(38, 10))"],
            Family::Text => &[
                "''",
                "'a'",
                "'The quick'",
                "'%the%'",
                "'[a-z]+'",
                "'month'",
                "'day'",
                "'year'",
                "','",
                "' '",
                "'1996-01-31'",
                "'%Y-%m-%d'",
                "'10'",
                "'base64'",
                "'hex'",
                "'sha256'",
                "'g'",
                "'é'",
                "'UTC'",
                "'{1,2}'",
                "'a,b,c'",
                "'Int64'",
                "'1.5'",
            ],
            Family::Bytes => &["x'00ff'", "x''", "x'616263'"],
            Family::Date => &[
                "date '1996-02-29'",
                "date '1970-01-01'",
                "date '1995-06-17'",
            ],
            Family::Time => &["time '12:34:56'", "time '00:00:00'"],
            Family::Timestamp => &[
                "timestamp '1996-02-29 23:59:59.999'",
                "timestamp '1970-01-01 00:00:00'",
                "arrow_cast('2024-03-31T01:30:00', 'Timestamp(us, \"Europe/Paris\")')",
            ],
            Family::Duration => &["arrow_cast(1500, 'Duration(ms)')"],
            Family::Interval => &[
                "interval '1 month'",
                "interval '3 days'",
                "interval '-2 hours'",
            ],
            Family::List => &[
                "[1, 2, 3]",
                "[1, null]",
                "['a', 'b', null]",
                "[]",
                "[[1], [2, 3]]",
                "[0.5, 2.5]",
                "range(0, 5)",
            ],
            Family::Struct => &["named_struct('a', 1, 'b', 'x')", "struct(1, 'x')"],
            Family::Map => &["map(['a', 'b'], [1, 2])", "map {'a': 1}"],
            Family::Other => &["null", "1"],
        };
        (*self.random.pick(values)).to_owned()
    }
}
