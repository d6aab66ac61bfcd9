//! Converts requests to Spark's SQL.

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator};

use crate::backend::predicate_expr::predicate_expr;
use crate::backend::request::{Filter, TableQuery};
use crate::error::{ErrorKind, QueryError};

/// The column that numbers the rows of a table in their order, so that it decides ties.
const ROW: &str = "__colonnade_row";

/// A query with the schema of `query` and no rows, which Spark answers without a job.
pub(super) fn without_rows(query: &str) -> String {
    format!("{query} limit 0")
}

/// A name in Spark's quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A SELECT of rows and columns of a table; `relation` is its name as SQL.
///
/// # Errors
/// `unknown_column`, `bad_filter`, or `not_supported` if Spark might give another result than the other
/// engines.
pub(super) fn table_sql(
    relation: &str,
    schema: &Schema,
    query: &TableQuery,
) -> Result<String, QueryError> {
    let columns: Vec<_> = query
        .column_names(schema)?
        .into_iter()
        .map(quoted)
        .collect();
    let columns = columns.join(", ");
    let filter = match &query.filter {
        None => String::new(),
        Some(Filter::Json(json)) => {
            format!(" where {}", condition(&predicate_expr(json, schema)?)?)
        }
        Some(Filter::Text(_)) => {
            return Err(not_supported(
                "a filter as text is DataFusion's SQL",
                "give the filter as a predicate to POST /v1/query, or write Spark's SQL there",
            ));
        }
    };
    if query.sort.is_empty() {
        return Ok(format!("select {columns} from {relation}{filter}"));
    }
    let mut keys = Vec::with_capacity(query.sort.len() + 1);
    for key in &query.sort {
        let direction = if key.descending { "desc" } else { "asc" };
        let name = query.field(&key.column, schema)?.name();
        keys.push(format!("{} {direction} nulls last", quoted(name)));
    }
    keys.push(quoted(ROW));
    Ok(format!(
        "select {columns} from (select *, monotonically_increasing_id() as {} from {relation}{filter}) order by {}",
        quoted(ROW),
        keys.join(", ")
    ))
}

/// An expression of [`predicate_expr`] in Spark's SQL.
fn condition(expr: &Expr) -> Result<String, QueryError> {
    Ok(match expr {
        Expr::Column(column) => quoted(&column.name),
        Expr::Literal(value, _) => literal(value)?,
        Expr::BinaryExpr(binary) => {
            let sign = match binary.op {
                Operator::And => "and",
                Operator::Or => "or",
                Operator::Eq => "=",
                Operator::NotEq => "<>",
                Operator::Lt => "<",
                Operator::LtEq => "<=",
                Operator::Gt => ">",
                Operator::GtEq => ">=",
                _ => return Err(no_filter(expr)),
            };
            let (left, right) = (condition(&binary.left)?, condition(&binary.right)?);
            format!("({left} {sign} {right})")
        }
        Expr::Not(inner) => format!("(not {})", condition(inner)?),
        Expr::IsNull(inner) => format!("({} is null)", condition(inner)?),
        Expr::IsNotNull(inner) => format!("({} is not null)", condition(inner)?),
        Expr::Cast(cast) if *cast.field.data_type() == DataType::Utf8 => {
            format!("cast({} as string)", condition(&cast.expr)?)
        }
        Expr::InList(list) => {
            let values = list.list.iter().map(condition);
            let values = values.collect::<Result<Vec<_>, _>>()?.join(", ");
            format!("({} in ({values}))", condition(&list.expr)?)
        }
        Expr::ScalarFunction(call) => {
            let name = match call.name() {
                "contains" => "contains",
                "starts_with" => "startswith",
                _ => return Err(no_filter(expr)),
            };
            let args = call.args.iter().map(condition);
            format!(
                "{name}({})",
                args.collect::<Result<Vec<_>, _>>()?.join(", ")
            )
        }
        _ => return Err(no_filter(expr)),
    })
}

/// An exact value in Spark's SQL.
fn literal(value: &ScalarValue) -> Result<String, QueryError> {
    Ok(match value {
        ScalarValue::Boolean(None) => "cast(null as boolean)".to_owned(),
        ScalarValue::Boolean(Some(value)) => value.to_string(),
        ScalarValue::Int8(Some(number)) => as_type(number, "tinyint"),
        ScalarValue::Int16(Some(number)) => as_type(number, "smallint"),
        ScalarValue::Int32(Some(number)) => as_type(number, "int"),
        ScalarValue::Int64(Some(number)) => as_type(number, "bigint"),
        ScalarValue::Float32(Some(number)) => as_type(number, "float"),
        ScalarValue::Float64(Some(number)) => as_type(number, "double"),
        ScalarValue::Decimal128(Some(number), precision, scale @ 0..) => {
            let text = format!("{number}e-{scale}");
            // Spark has null for a number of more digits than its type.
            let num_digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
            let precision = num_digits.max((*precision).into());
            as_type(&text, &format!("decimal({precision}, {scale})"))
        }
        ScalarValue::Utf8(Some(text)) => {
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
        }
        ScalarValue::Binary(Some(bytes)) => {
            let digits = bytes.iter().map(|byte| format!("{byte:02X}"));
            format!("X'{}'", digits.collect::<String>())
        }
        ScalarValue::Date32(Some(days)) => format!("date_from_unix_date({days})"),
        ScalarValue::TimestampMicrosecond(Some(micros), Some(_)) => {
            format!("timestamp_micros({})", as_type(micros, "bigint"))
        }
        other => {
            return Err(not_supported(
                &format!("a filter on a column of type {}", other.data_type()),
                "write the condition in SQL",
            ));
        }
    })
}

fn as_type(value: &impl ToString, spark_type: &str) -> String {
    format!("cast('{}' as {spark_type})", value.to_string())
}

fn no_filter(expr: &Expr) -> QueryError {
    not_supported(&format!("the filter {expr}"), "write the condition in SQL")
}

fn not_supported(what: &str, hint: &str) -> QueryError {
    QueryError::new(
        ErrorKind::NotSupported,
        format!("{what} cannot be given to Spark"),
        hint,
    )
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::{Field, TimeUnit};
    use serde_json::json;

    use super::*;
    use crate::backend::request::SortKey;

    fn schema() -> Schema {
        Schema::new(vec![
            Field::new("n", DataType::Int64, true),
            Field::new("t`", DataType::Utf8, true),
            Field::new("d", DataType::Decimal128(10, 2), true),
            Field::new("day", DataType::Date32, true),
            Field::new(
                "at",
                DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
                true,
            ),
            Field::new("f", DataType::Float64, true),
            Field::new(
                "i",
                DataType::Interval(datafusion::arrow::datatypes::IntervalUnit::YearMonth),
                true,
            ),
        ])
    }

    fn filtered(filter: serde_json::Value) -> Result<String, QueryError> {
        let query = TableQuery {
            table: "s.t".to_owned(),
            columns: Some(vec!["n".to_owned()]),
            filter: Some(Filter::Json(filter)),
            sort: Vec::new(),
        };
        table_sql("`s`.`t`", &schema(), &query)
    }

    #[test]
    fn a_table_in_sql() {
        let query = TableQuery {
            table: "t".to_owned(),
            columns: Some(vec!["t`".to_owned()]),
            filter: None,
            sort: vec![SortKey {
                column: "n".to_owned(),
                descending: true,
            }],
        };
        assert_eq!(
            table_sql("`t`", &schema(), &query).unwrap(),
            "select `t``` from (select *, monotonically_increasing_id() as `__colonnade_row` from `t`) order by `n` desc nulls last, `__colonnade_row`"
        );
        for (filter, sql) in [
            (
                json!({"op": "ge", "column": "n", "value": -5}),
                "(`n` >= cast('-5' as bigint))",
            ),
            (
                json!({"op": "eq", "column": "t`", "value": "a'\\\"\n"}),
                "(`t``` = 'a\\'\\\\\"\n')",
            ),
            (
                json!({"op": "contains", "column": "n", "value": "7"}),
                "contains(cast(`n` as string), '7')",
            ),
            (
                json!({"op": "lt", "column": "d", "value": "1.255"}),
                "(`d` <= cast('125e-2' as decimal(10, 2)))",
            ),
            (
                json!({"op": "lt", "column": "d", "value": "99999999999999999999"}),
                "(`d` < cast('9999999999999999999900e-2' as decimal(22, 2)))",
            ),
            (
                json!({"op": "in", "column": "day", "value": ["1970-01-02"]}),
                "(`day` in (date_from_unix_date(1)))",
            ),
            (
                json!({"not": {"op": "is_null", "column": "f"}}),
                "(not (`f` is null))",
            ),
            (
                json!({"op": "gt", "column": "f", "value": "NaN"}),
                "(`f` > cast('NaN' as double))",
            ),
            (
                json!({"op": "eq", "column": "at", "value": "1970-01-01T00:00:01Z"}),
                "(`at` = timestamp_micros(cast('1000000' as bigint)))",
            ),
        ] {
            let expected = format!("select `n` from `s`.`t` where {sql}");
            assert_eq!(filtered(filter).unwrap(), expected);
        }
    }

    #[test]
    fn what_spark_might_take_otherwise_is_refused() {
        let refused = filtered(json!({"op": "eq", "column": "x", "value": 1})).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::UnknownColumn);
        let refused = filtered(json!({"op": "eq", "column": "i", "value": "1 month"})).unwrap_err();
        assert!(
            matches!(refused.kind, ErrorKind::NotSupported | ErrorKind::BadFilter),
            "{refused}"
        );
        let text = TableQuery {
            filter: Some(Filter::Text("n > 1".to_owned())),
            ..TableQuery::default()
        };
        let refused = table_sql("`t`", &schema(), &text).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::NotSupported);
    }
}
