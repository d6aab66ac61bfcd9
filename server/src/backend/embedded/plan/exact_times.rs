//! Compares timestamps of different units exactly.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Between, BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, TryCast, binary_expr,
    lit,
};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::optimizer::utils::NamePreserver;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::scalar::ScalarValue;

/// Rewrites comparisons of a timestamp with a literal of a finer unit, which the timestamp's unit cannot hold.
///
/// DataFusion 55 cuts the literal: `t = '00:00:01.5'` is then true for 1 s, if `t` has whole seconds
/// (`try_cast_literal_to_type`, whose documentation says so). The rule must run before the expressions are
/// simplified, because that is where it happens.
#[derive(Debug)]
pub(crate) struct ExactTimes;

impl OptimizerRule for ExactTimes {
    fn name(&self) -> &'static str {
        "exact_times"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let schema = match &plan {
            LogicalPlan::TableScan(scan) => {
                DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?
            }
            _ => merge_schema(&plan.inputs()),
        };
        let schema = Arc::new(schema);
        let context = SimplifyContext::builder()
            .with_schema(Arc::clone(&schema))
            .with_config_options(config.options())
            .with_query_execution_start_time(config.query_execution_start_time())
            .build();
        let comparisons = Comparisons {
            schema: &schema,
            simplifier: ExprSimplifier::new(context),
        };
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let exact = expr.transform_up(|expr| comparisons.exact(expr))?;
            Ok(exact.update_data(|expr| name.restore(expr)))
        })
    }
}

/// A timestamp that is cast to a finer unit.
struct Widened {
    expr: Expr,
    data_type: DataType,
    /// Units of the finer timestamp in one of the coarser.
    ratio: i64,
}

struct Comparisons<'a> {
    schema: &'a DFSchema,
    simplifier: ExprSimplifier,
}

impl Comparisons<'_> {
    /// The same comparison, if it is exact; otherwise one that is.
    fn exact(&self, expr: Expr) -> Result<Transformed<Expr>> {
        let exact = match &expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let swapped = || self.exact_binary(right, op.swap()?, left);
                self.exact_binary(left, *op, right).or_else(swapped)
            }
            Expr::Between(between) => self.exact_between(between),
            Expr::InList(list) => self.exact_list(list),
            _ => None,
        };
        Ok(exact.map_or_else(|| Transformed::no(expr), Transformed::yes))
    }

    fn exact_binary(&self, left: &Expr, op: Operator, right: &Expr) -> Option<Expr> {
        let time = self.widened(left)?;
        let value = self.value(right)?;
        (value % time.ratio != 0).then(|| time.compare(op, value))?
    }

    fn exact_between(&self, between: &Between) -> Option<Expr> {
        self.widened(&between.expr)?;
        let side = |op, bound: &Expr| {
            let exact = self.exact_binary(&between.expr, op, bound);
            exact.unwrap_or_else(|| binary_expr((*between.expr).clone(), op, bound.clone()))
        };
        Some(if between.negated {
            side(Operator::Lt, &between.low).or(side(Operator::Gt, &between.high))
        } else {
            side(Operator::GtEq, &between.low).and(side(Operator::LtEq, &between.high))
        })
    }

    /// Leaves out the values that the timestamp cannot have.
    fn exact_list(&self, list: &InList) -> Option<Expr> {
        let time = self.widened(&list.expr)?;
        let is_possible = |value: &&Expr| {
            let value = self.value(value);
            value.is_none_or(|value| value % time.ratio == 0)
        };
        let possible: Vec<_> = list.list.iter().filter(is_possible).cloned().collect();
        if possible.len() == list.list.len() {
            return None;
        }
        if possible.is_empty() {
            return Some(time.always(list.negated));
        }
        Some(Expr::InList(InList {
            list: possible,
            ..list.clone()
        }))
    }

    fn widened(&self, expr: &Expr) -> Option<Widened> {
        let (Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field })) = expr
        else {
            return None;
        };
        let data_type = expr.get_type(self.schema).ok()?;
        let (DataType::Timestamp(coarse, _), DataType::Timestamp(fine, _)) =
            (&data_type, field.data_type())
        else {
            return None;
        };
        let ratio = per_second(*fine) / per_second(*coarse);
        (ratio > 1).then(|| Widened {
            expr: (**expr).clone(),
            data_type,
            ratio,
        })
    }

    /// The timestamp that a constant expression has, in its unit.
    fn value(&self, expr: &Expr) -> Option<i64> {
        if !expr.column_refs().is_empty() {
            return None;
        }
        match self.simplifier.simplify(expr.clone()).ok()? {
            Expr::Literal(
                ScalarValue::TimestampSecond(value, _)
                | ScalarValue::TimestampMillisecond(value, _)
                | ScalarValue::TimestampMicrosecond(value, _)
                | ScalarValue::TimestampNanosecond(value, _),
                _,
            ) => value,
            _ => None,
        }
    }
}

impl Widened {
    /// The comparison with a value that lies between two of the coarser unit.
    fn compare(&self, op: Operator, value: i64) -> Option<Expr> {
        let below = value.div_euclid(self.ratio);
        let below = ScalarValue::Int64(Some(below))
            .cast_to(&self.data_type)
            .ok()?;
        let time = self.expr.clone();
        Some(match op {
            Operator::Lt | Operator::LtEq => time.lt_eq(lit(below)),
            Operator::Gt | Operator::GtEq => time.gt(lit(below)),
            Operator::Eq => self.always(false),
            Operator::NotEq => self.always(true),
            Operator::IsDistinctFrom => lit(true),
            Operator::IsNotDistinctFrom => lit(false),
            _ => return None,
        })
    }

    /// This result for every timestamp, and null for null.
    fn always(&self, result: bool) -> Expr {
        let time = self.expr.clone();
        match result {
            true => time.clone().eq(time),
            false => time.clone().not_eq(time),
        }
    }
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}
