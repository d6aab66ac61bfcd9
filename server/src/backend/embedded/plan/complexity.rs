//! Limits of a statement's size and depth, so that a statement that would never be planned gets a clear error at once.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    ObjectNamePart, Query, SetExpr, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::error::{ErrorKind, QueryError};

/// The most names, keywords, operators and brackets in one text. Planning takes a second at some thousands of
/// operators, and grows with the square.
const MAX_TOKENS: usize = 20_000;

/// The most operators and calls of which each is an operand of the next. Planning recurses, and takes seconds at some
/// thousands of them; the parser limits only what is in brackets.
const MAX_DEPTH: usize = 1000;

/// The same for set operations. Each takes more of the stack than an operator.
const MAX_SET_OPERATIONS: usize = 500;

/// The most intervals of an interval, which the parser reads by recursion without a limit.
const MAX_INTERVAL_DEPTH: usize = 64;

/// The most brackets in a type: rows cannot be sent with more in each other.
const MAX_TYPE_DEPTH: usize = 64;

/// Checks the size of a text before it is parsed. A text that cannot be tokenized is left to the parser.
///
/// # Errors
/// `too_complex`.
pub(super) fn check_size(text: &str) -> Result<(), QueryError> {
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, text).tokenize() else {
        return Ok(());
    };
    let num_tokens = tokens.iter().filter(|token| counts(token)).count();
    let interval_depth = interval_depth(&tokens);
    if num_tokens > MAX_TOKENS {
        return Err(too_complex(format!(
            "the SQL has {num_tokens} names, operators and brackets, more than {MAX_TOKENS}"
        )));
    }
    if interval_depth > MAX_INTERVAL_DEPTH {
        return Err(too_complex(format!(
            "the SQL has {interval_depth} intervals in each other, more than {MAX_INTERVAL_DEPTH}"
        )));
    }
    Ok(())
}

fn too_complex(problem: String) -> QueryError {
    QueryError::new(
        ErrorKind::TooComplex,
        problem,
        "write a list with IN instead of many ORs, or several smaller queries",
    )
}

/// Whether a token is more than an item of a list of values.
fn counts(token: &Token) -> bool {
    !matches!(
        token,
        Token::Whitespace(_) | Token::Comma | Token::Number(..) | Token::SingleQuotedString(_)
    )
}

/// The most intervals one right after the other.
fn interval_depth(tokens: &[Token]) -> usize {
    let (mut depth, mut most) = (0, 0);
    for token in tokens {
        match token {
            Token::Word(word) if word.keyword == Keyword::INTERVAL => depth += 1,
            Token::Whitespace(_) => {}
            _ => depth = 0,
        }
        most = most.max(depth);
    }
    most
}

/// Checks the depth of a parsed statement.
///
/// # Errors
/// `too_complex`.
pub(super) fn check_depth(statement: &Statement) -> Result<(), QueryError> {
    match statement {
        Statement::Statement(statement) => check_depth_of(statement.as_ref()),
        Statement::Explain(explain) => check_depth(&explain.statement),
        _ => Ok(()),
    }
}

/// As [`check_depth`], of a part of a statement.
///
/// # Errors
/// `too_complex`.
pub(super) fn check_depth_of(part: &impl Visit) -> Result<(), QueryError> {
    match part.visit(&mut DepthVisitor::default()) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(problem) => Err(too_complex(problem)),
    }
}

#[derive(Default)]
struct DepthVisitor {
    num_expressions: usize,
}

impl Visitor for DepthVisitor {
    type Break = String;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
        self.num_expressions += 1;
        if self.num_expressions > MAX_DEPTH {
            return ControlFlow::Break(format!(
                "an expression of the SQL has more than {MAX_DEPTH} operators and calls in each other"
            ));
        }
        let type_depth = match expr {
            Expr::Cast { data_type, .. } => depth_of(data_type),
            Expr::TypedString(text) => depth_of(&text.data_type),
            Expr::Function(call) if takes_type(call) => depth_in_text(call),
            _ => 0,
        };
        if type_depth > MAX_TYPE_DEPTH {
            return ControlFlow::Break(format!(
                "a type in the SQL has {type_depth} brackets, more than {MAX_TYPE_DEPTH}"
            ));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<String> {
        self.num_expressions -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
        let mut num_operations = 0;
        let mut body = &query.body;
        while let SetExpr::SetOperation { left, .. } = body.as_ref() {
            num_operations += 1;
            body = left;
        }
        if num_operations > MAX_SET_OPERATIONS {
            return ControlFlow::Break(format!(
                "the SQL has {num_operations} set operations in a row, more than {MAX_SET_OPERATIONS}"
            ));
        }
        ControlFlow::Continue(())
    }
}

/// The arrays in each other of a type. The parser reads them without recursion, and without a limit.
fn depth_of(data_type: &DataType) -> usize {
    let (mut depth, mut inner) = (0, data_type);
    while let DataType::Array(
        ArrayElemTypeDef::SquareBracket(item, _)
        | ArrayElemTypeDef::AngleBracket(item)
        | ArrayElemTypeDef::Parenthesis(item),
    ) = inner
    {
        (depth, inner) = (depth + 1, item);
    }
    depth
}

/// Whether it is a function that takes the text of a type.
fn takes_type(call: &Function) -> bool {
    let name = call.name.0.last().and_then(ObjectNamePart::as_ident);
    name.is_some_and(|name| {
        let name = name.value.to_lowercase();
        name == "arrow_cast" || name == "arrow_try_cast"
    })
}

/// The most brackets of a text among its arguments.
fn depth_in_text(call: &Function) -> usize {
    let FunctionArguments::List(list) = &call.args else {
        return 0;
    };
    let texts = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => {
            value.clone().into_string()
        }
        _ => None,
    });
    let depths = texts.map(|text| text.matches('(').count());
    depths.max().unwrap_or(0)
}
