//! Makes every NaN the greatest number, and equal to each other.

use std::sync::{Arc, LazyLock};

use colonnade_core::semantics::value_type;
use datafusion::arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, FieldRef, Float16Type, Float32Type, Float64Type,
};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{AggregateFunction, InList, InSubquery, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Cast, ColumnarValue, Distinct, Expr, ExprSchemable, Join, LogicalPlan,
    LogicalPlanBuilder, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Subquery, Volatility, WindowFunctionDefinition, binary_expr, cast as cast_to, lit,
};
use datafusion::optimizer::AnalyzerRule;

use crate::backend::embedded::plan::extremes::extreme_of_floats;
use crate::backend::embedded::plan::rewrite::rewrite_exprs;

/// Compares floats, groups by them and joins them so that NaN of any sign is greater than every number and equal to NaN.
/// It runs after the types are coerced.
///
/// Arrow compares by IEEE 754's total order, in which the NaN of `0.0 / 0.0` on x86, whose sign bit is set, is the least
/// value. Comparisons of a plain column with a number stay such comparisons, which statistics can answer.
#[derive(Debug)]
pub(crate) struct OneNan;

impl AnalyzerRule for OneNan {
    fn name(&self) -> &'static str {
        "one_nan"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = rewrite_exprs(plan, rewritten)?;
        plan.transform_up_with_subqueries(with_keys).data()
    }
}

/// The node with one NaN among its keys.
fn with_keys(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Aggregate(aggregate) => with_groups(aggregate),
        LogicalPlan::Join(join) => with_join_keys(join),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let input = with_columns(input, one_nan_as)?;
            let is_changed = input.transformed;
            let plan = LogicalPlan::Distinct(Distinct::All(input.data));
            Ok(Transformed::new_transformed(plan, is_changed))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn with_groups(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(aggregate.input.schema());
    let plan = LogicalPlan::Aggregate(aggregate);
    let names = NamePreserver::new(&plan);
    let LogicalPlan::Aggregate(mut aggregate) = plan else {
        unreachable!("it is an aggregate");
    };
    let with_name = |key: Expr| {
        if !is_float(&key, &schema)? {
            return Ok(Transformed::no(key));
        }
        let name = names.save(&key);
        let data_type = key.get_type(&schema)?;
        Ok(Transformed::yes(name.restore(one_nan_as(key, data_type))))
    };
    let mut is_changed = false;
    for group in &mut aggregate.group_expr {
        let changed = match std::mem::take(group) {
            set @ Expr::GroupingSet(_) => set.map_children(with_name)?,
            key => with_name(key)?,
        };
        is_changed |= changed.transformed;
        *group = changed.data;
    }
    if !is_changed {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let Aggregate {
        input,
        group_expr,
        aggr_expr,
        ..
    } = aggregate;
    let aggregate = Aggregate::try_new(input, group_expr, aggr_expr)?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
}

fn with_join_keys(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let mut is_changed = false;
    for (left, right) in &mut join.on {
        if is_float(left, join.left.schema())? {
            *left = one_nan(std::mem::take(left));
            *right = one_nan(std::mem::take(right));
            is_changed = true;
        }
    }
    Ok(Transformed::new_transformed(
        LogicalPlan::Join(join),
        is_changed,
    ))
}

/// The rows with one NaN in each column, which `with_nan` makes of a column and its type.
fn with_columns(
    input: Arc<LogicalPlan>,
    with_nan: fn(Expr, DataType) -> Expr,
) -> Result<Transformed<Arc<LogicalPlan>>> {
    let schema = Arc::clone(input.schema());
    let has_floats = |field: &FieldRef| value_type(field.data_type()).is_floating();
    if !schema.fields().iter().any(has_floats) {
        return Ok(Transformed::no(input));
    }
    let columns = schema.iter().map(|(relation, field)| {
        let column = Expr::from((relation, field));
        match has_floats(field) {
            true => with_nan(column, field.data_type().clone())
                .alias_qualified(relation.cloned(), field.name()),
            false => column,
        }
    });
    let columns: Vec<_> = columns.collect();
    let plan = LogicalPlanBuilder::new_from_arc(input).project(columns)?;
    Ok(Transformed::yes(Arc::new(plan.build()?)))
}

fn rewritten(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let changed = match &expr {
        Expr::BinaryExpr(comparison) => compared(comparison, schema)?,
        Expr::InList(list) if !list.list.iter().all(is_one_value) => is_float(&list.expr, schema)?
            .then(|| {
                Expr::InList(InList {
                    expr: Box::new(one_nan((*list.expr).clone())),
                    list: list.list.iter().cloned().map(one_nan).collect(),
                    ..list.clone()
                })
            }),
        Expr::Between(between)
            if !is_number(&between.low)
                || !is_number(&between.high)
                || is_encoded(&between.expr, schema)? =>
        {
            is_float(&between.expr, schema)?.then(|| {
                let mut between = between.clone();
                for part in [&mut between.expr, &mut between.low, &mut between.high] {
                    **part = one_nan(std::mem::take(&mut **part));
                }
                Expr::Between(between)
            })
        }
        Expr::Case(case) => match &case.expr {
            Some(operand) if is_float(operand, schema)? => {
                let mut case = case.clone();
                case.expr = case.expr.map(|operand| Box::new(one_nan(*operand)));
                for (when, _) in &mut case.when_then_expr {
                    **when = one_nan(std::mem::take(&mut **when));
                }
                Some(Expr::Case(case))
            }
            _ => None,
        },
        Expr::InSubquery(test) => within(test, schema)?,
        Expr::AggregateFunction(call) => aggregated(call, schema)?,
        Expr::WindowFunction(call) => windowed(call, schema)?,
        _ => None,
    };
    Ok(changed.map_or_else(|| Transformed::no(expr), Transformed::yes))
}

/// The comparison with one NaN; `None` if it is so already.
fn compared(comparison: &BinaryExpr, schema: &DFSchema) -> Result<Option<Expr>> {
    let BinaryExpr { left, op, right } = comparison;
    let is_order = matches!(
        op,
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
    );
    let is_equality = matches!(
        op,
        Operator::Eq | Operator::NotEq | Operator::IsDistinctFrom | Operator::IsNotDistinctFrom
    );
    if !(is_order || is_equality) || !is_float(left, schema)? {
        return Ok(None);
    }
    let (expr, op, number) = match (is_number(left), is_number(right)) {
        (true, true) => return Ok(None),
        (true, false) => (right, op.swap().unwrap_or(*op), left),
        (false, true) => (left, *op, right),
        (false, false) => {
            let sides = [left, right].map(|side| one_nan((**side).clone()));
            let [left, right] = sides;
            return Ok(Some(binary_expr(left, *op, right)));
        }
    };
    let is_encoded = is_encoded(expr, schema)?;
    if !is_order && !is_encoded {
        return Ok(None);
    }
    if is_encoded || !matches!(**expr, Expr::Column(_)) {
        let [expr, number] = [expr, number].map(|side| one_nan((**side).clone()));
        return Ok(Some(binary_expr(expr, op, number)));
    }
    let infinity = ScalarValue::Float64(Some(f64::NEG_INFINITY));
    let least = lit(infinity.cast_to(&expr.get_type(schema)?)?);
    let plain = binary_expr((**expr).clone(), op, (**number).clone());
    Ok(Some(match op {
        Operator::Lt | Operator::LtEq => plain.and((**expr).clone().gt_eq(least)),
        _ => plain.or((**expr).clone().lt(least)),
    }))
}

fn within(test: &InSubquery, schema: &DFSchema) -> Result<Option<Expr>> {
    if !is_float(&test.expr, schema)? {
        return Ok(None);
    }
    let plain = |column, _| one_nan(column);
    let subquery = with_columns(Arc::clone(&test.subquery.subquery), plain)?.data;
    Ok(Some(Expr::InSubquery(InSubquery {
        expr: Box::new(one_nan((*test.expr).clone())),
        subquery: Subquery {
            subquery,
            ..test.subquery.clone()
        },
        negated: test.negated,
    })))
}

fn aggregated(call: &AggregateFunction, schema: &DFSchema) -> Result<Option<Expr>> {
    let mut call = call.clone();
    let is_indifferent = !call.params.distinct && is_indifferent(call.func.name());
    let arguments = match is_indifferent {
        true => &mut [][..],
        false => &mut call.params.args[..],
    };
    let is_changed = with_one_nan(arguments, schema)?;
    if is_changed && let Some(function) = extreme_of_floats(&call.func) {
        call.func = Arc::new(function);
    }
    let sorts = call.params.order_by.iter_mut().map(|sort| &mut sort.expr);
    let is_sorted = with_one_nan(sorts, schema)?;
    Ok((is_changed || is_sorted).then_some(Expr::AggregateFunction(call)))
}

fn windowed(call: &WindowFunction, schema: &DFSchema) -> Result<Option<Expr>> {
    let mut call = Box::new(call.clone());
    let mut keys: Vec<&mut Expr> = Vec::new();
    let params = &mut call.params;
    if let WindowFunctionDefinition::AggregateUDF(function) = &call.fun
        && (params.distinct || !is_indifferent(function.name()))
    {
        keys.extend(&mut params.args);
    }
    keys.extend(&mut params.partition_by);
    keys.extend(params.order_by.iter_mut().map(|sort| &mut sort.expr));
    let is_changed = with_one_nan(keys, schema)?;
    Ok(is_changed.then_some(Expr::WindowFunction(call)))
}

/// Whether an aggregate compares none of its values, unless they are to be distinct. It then gives them as they are.
fn is_indifferent(aggregate: &str) -> bool {
    let names = [
        "count",
        "sum",
        "avg",
        "array_agg",
        "first_value",
        "last_value",
        "nth_value",
    ];
    names.contains(&aggregate)
}

/// Gives the floats among the expressions one NaN; whether there are some.
fn with_one_nan<'a>(
    exprs: impl IntoIterator<Item = &'a mut Expr>,
    schema: &DFSchema,
) -> Result<bool> {
    let mut is_changed = false;
    for expr in exprs {
        if is_float(expr, schema)? {
            *expr = one_nan(std::mem::take(expr));
            is_changed = true;
        }
    }
    Ok(is_changed)
}

fn is_float(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    Ok(value_type(&expr.get_type(schema)?).is_floating())
}

/// Whether the values are in a dictionary or in runs, whose comparisons DataFusion does not prepare for −0.
fn is_encoded(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let data_type = expr.get_type(schema)?;
    Ok(*value_type(&data_type) != data_type)
}

/// The number that is a constant; `None` for null and NaN.
fn number(expr: &Expr) -> Option<f64> {
    let value = match expr {
        Expr::Literal(value, _) => value,
        Expr::Cast(Cast { expr, .. }) => match &**expr {
            Expr::Literal(value, _) => value,
            _ => return None,
        },
        _ => return None,
    };
    match value.cast_to(&DataType::Float64) {
        Ok(ScalarValue::Float64(number)) => number.filter(|number| !number.is_nan()),
        _ => None,
    }
}

fn is_number(expr: &Expr) -> bool {
    number(expr).is_some()
}

/// Whether no other float equals the constant, as −0 equals 0. Arrow's lists of values take these for two.
fn is_one_value(expr: &Expr) -> bool {
    number(expr).is_some_and(|number| number != 0.0)
}

/// The expression with one NaN, as values of its type again.
fn one_nan_as(expr: Expr, data_type: DataType) -> Expr {
    match *value_type(&data_type) == data_type {
        true => one_nan(expr),
        false => cast_to(one_nan(expr), data_type),
    }
}

/// A constant that is not in a dictionary or in runs; other expressions as they are.
fn plain_constant(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(ScalarValue::Dictionary(_, value), metadata)
        | Expr::Literal(ScalarValue::RunEndEncoded(_, _, value), metadata) => {
            Expr::Literal(*value, metadata)
        }
        Expr::Cast(Cast { expr, field }) if matches!(*expr, Expr::Literal(..)) => {
            let data_type = value_type(field.data_type()).clone();
            cast_to(*expr, data_type)
        }
        other => other,
    }
}

/// The plain floats of the expression, with one NaN.
fn one_nan(expr: Expr) -> Expr {
    let expr = plain_constant(expr);
    static FUNCTION: LazyLock<ScalarUDF> = LazyLock::new(|| {
        ScalarUDF::new_from_impl(CanonicalFloat {
            signature: Signature::any(1, Volatility::Immutable),
        })
    });
    let is_done =
        matches!(&expr, Expr::ScalarFunction(call) if call.func.inner().is::<CanonicalFloat>());
    match is_done || is_one_value(&expr) {
        true => expr,
        false => FUNCTION.call(vec![expr]),
    }
}

/// The same floats, with one NaN for all, and 0 for −0.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CanonicalFloat {
    signature: Signature,
}

impl ScalarUDFImpl for CanonicalFloat {
    fn name(&self) -> &'static str {
        "canonical_float"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(value_type(&types[0]).clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let field = &args.arg_fields[0];
        let data_type = value_type(field.data_type()).clone();
        let field = Field::new(self.name(), data_type, field.is_nullable());
        Ok(Arc::new(field))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(match &args.args[0] {
            ColumnarValue::Array(values) => ColumnarValue::Array(canonical(values)?),
            ColumnarValue::Scalar(value) => {
                let value = canonical(&value.to_array()?)?;
                ColumnarValue::Scalar(ScalarValue::try_from_array(&value, 0)?)
            }
        })
    }
}

fn canonical(values: &ArrayRef) -> Result<ArrayRef> {
    fn of<T: ArrowPrimitiveType>(
        values: &ArrayRef,
        is_nan: fn(T::Native) -> bool,
        nan: T::Native,
    ) -> ArrayRef {
        let zero = T::Native::default();
        let values: PrimitiveArray<T> = values.as_primitive::<T>().unary(|value| {
            if is_nan(value) {
                nan
            } else if value == zero {
                zero
            } else {
                value
            }
        });
        Arc::new(values)
    }
    let values = &cast(values, value_type(values.data_type()))?;
    Ok(match values.data_type() {
        DataType::Float16 => {
            let nan = <Float16Type as ArrowPrimitiveType>::Native::NAN;
            of::<Float16Type>(values, |value| value.is_nan(), nan)
        }
        DataType::Float32 => of::<Float32Type>(values, f32::is_nan, f32::NAN),
        DataType::Float64 => of::<Float64Type>(values, f64::is_nan, f64::NAN),
        _ => Arc::clone(values),
    })
}
