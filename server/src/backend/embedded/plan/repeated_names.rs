//! Results with several columns of one name.

use std::collections::HashSet;

use colonnade_core::semantics::distinct_names;
use datafusion::arrow::datatypes::{Field, Fields, Schema};
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, SelectItem, SetExpr, Statement as SqlStatement,
};

/// Between a name and the number that tells it from an equal one, until the result is sent.
const SEPARATOR: &str = "\0\0";

/// Whether a statement was refused because two columns of a result have the same name. DataFusion has no type for the
/// most frequent of these errors.
pub(super) fn has_repeated_names(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::SchemaError(error, _) => matches!(
            **error,
            SchemaError::AmbiguousReference { .. }
                | SchemaError::DuplicateQualifiedField { .. }
                | SchemaError::DuplicateUnqualifiedField { .. }
        ),
        DataFusionError::Plan(message) => {
            message.contains("Projections require unique expression names")
        }
        _ => false,
    }
}

/// Gives each column of the result a name of its own, if it has no alias or a repeated one. [`sent_schema`] takes the
/// difference away.
pub(super) fn tell_apart(statement: &mut Statement) {
    match statement {
        Statement::Explain(explain) => tell_apart(&mut explain.statement),
        Statement::Statement(statement) => {
            if let SqlStatement::Query(query) = &mut **statement {
                tell_columns_apart(&mut query.body);
            }
        }
        _ => {}
    }
}

fn tell_columns_apart(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            let mut aliases = HashSet::new();
            for (number, item) in select.projection.iter_mut().enumerate() {
                tell_item_apart(item, number, &mut aliases);
            }
        }
        SetExpr::Query(query) => tell_columns_apart(&mut query.body),
        SetExpr::SetOperation { left, right, .. } => {
            tell_columns_apart(left);
            tell_columns_apart(right);
        }
        _ => {}
    }
}

fn tell_item_apart(item: &mut SelectItem, number: usize, aliases: &mut HashSet<String>) {
    let (expr, name) = match item {
        SelectItem::UnnamedExpr(expr) => (&*expr, shown_name(expr)),
        SelectItem::ExprWithAlias { expr, alias } if !aliases.insert(alias.value.clone()) => {
            (&*expr, alias.value.clone())
        }
        _ => return,
    };
    *item = SelectItem::ExprWithAlias {
        expr: expr.clone(),
        alias: Ident::with_quote('"', format!("{name}{SEPARATOR}{number}")),
    };
}

fn shown_name(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(parts) => parts
            .last()
            .map_or_else(String::new, |name| name.value.clone()),
        other => other.to_string(),
    }
}

/// The schema of a result, with names that differ as those of a CSV file do: `n`, `n (2)`.
pub(crate) fn sent_schema(schema: &Schema) -> Schema {
    let names = schema.fields().iter().map(|field| {
        let name = field.name().split_once(SEPARATOR);
        name.map_or(field.name().as_str(), |(name, _)| name)
    });
    let fields = schema.fields().iter().zip(distinct_names(names));
    let fields = fields.map(|(field, name)| Field::clone(field).with_name(name));
    Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone())
}
