//! Statements that could hang, crash or exhaust the program: drawn ones, known attacks, TPC-H's queries and
//! another project's. The program runs as a process of its own, and is asked over HTTP.

// The lint does not recognise helpers of an integration test as test code.
#![allow(clippy::unwrap_used)]

#[path = "http/client.rs"]
mod client;
#[path = "http/exchanges.rs"]
mod exchanges;

#[path = "statements/compare.rs"]
mod compare;
#[path = "statements/draw.rs"]
mod draw;
#[path = "statements/expression.rs"]
mod expression;
#[path = "statements/functions.rs"]
mod functions;
#[path = "statements/hostile.rs"]
mod hostile;
#[path = "statements/oracle.rs"]
mod oracle;
#[path = "statements/oracle_process.rs"]
mod oracle_process;
#[path = "statements/process.rs"]
mod process;
#[path = "statements/program.rs"]
mod program;
#[path = "statements/random.rs"]
mod random;
#[path = "statements/relation.rs"]
mod relation;
#[path = "statements/tables.rs"]
mod tables;

#[path = "statements/attacks.rs"]
mod attacks;
#[path = "statements/budget.rs"]
mod budget;
#[path = "statements/conformance.rs"]
mod conformance;
#[path = "statements/crowd.rs"]
mod crowd;
#[path = "statements/footers.rs"]
mod footers;
#[path = "statements/fuzz.rs"]
mod fuzz;
#[path = "statements/neighbours.rs"]
mod neighbours;
#[path = "statements/spilling.rs"]
mod spilling;
#[path = "statements/tpch.rs"]
mod tpch;
