//! Texts that readers disagree about: what this reader makes of each, and where it differs from DuckDB,
//! polars, pandas and pyarrow.
//!
//! `fixtures/text/cases.json` has the texts and the answers of the others. `ours.json` has the answers of
//! this reader; `COLONNADE_WRITE_FIXTURES=1` writes it and `docs/text-readers.md`, and every change of it
//! has to be read. `reasons.json` has a reason for each difference, written by hand.

#![allow(clippy::unwrap_used)]

mod answer;
mod compare;
mod digits;
mod page;
mod read;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use answer::Answer;
use compare::is_same;

const READERS: [&str; 4] = ["duckdb", "polars", "pandas", "pyarrow"];

/// A text, and what others make of it.
struct Case {
    name: String,
    is_json: bool,
    kind: String,
    what: String,
    text: Vec<u8>,
    /// The answers of [`READERS`].
    answers: Vec<Answer>,
}

/// A case with the answer of this reader and the reasons of the differences, by reader.
struct Compared {
    case: Case,
    ours: Answer,
    reasons: BTreeMap<String, String>,
}

fn path(file: &str) -> String {
    format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"))
}

fn load(file: &str) -> Value {
    let path = path(&format!("fixtures/text/{file}"));
    digits::parse(&std::fs::read_to_string(path).unwrap())
}

fn is_writing() -> bool {
    std::env::var_os("COLONNADE_WRITE_FIXTURES").is_some()
}

/// Compares a file with its expected content, or writes it.
fn check_file(file: &str, content: &str) {
    let path = path(file);
    if is_writing() {
        std::fs::write(path, content).unwrap();
        return;
    }
    let committed = std::fs::read_to_string(path).unwrap();
    for (committed, line) in committed.lines().zip(content.lines()) {
        assert_eq!(
            committed, line,
            "{file} is out of date; COLONNADE_WRITE_FIXTURES=1 writes it"
        );
    }
    assert_eq!(committed.lines().count(), content.lines().count(), "{file}");
}

fn cases(cases: &Value) -> Vec<Case> {
    let text = |case: &Value, key: &str| case[key].as_str().unwrap().to_owned();
    let cases = cases["cases"].as_array().unwrap().iter();
    let case = |case: &Value| Case {
        name: text(case, "name"),
        is_json: case["format"] == "json",
        kind: text(case, "kind"),
        what: text(case, "what"),
        text: answer::unpack(&case["text"]),
        answers: READERS.map(|reader| Answer::parse(&case[reader])).into(),
    };
    cases.map(case).collect()
}

/// The reasons of a case by reader.
fn reasons_of(reasons: &Value, name: &str) -> BTreeMap<String, String> {
    let of_case = reasons["cases"][name].as_object();
    let pairs = of_case.into_iter().flatten();
    let owned = |(reader, id): (&String, &Value)| (reader.clone(), id.as_str().unwrap().into());
    pairs.map(owned).collect()
}

#[test]
fn answers_are_the_expected_ones_and_differences_have_reasons() {
    let data = load("cases.json");
    let reasons = load("reasons.json");
    let compared: Vec<_> = cases(&data)
        .into_iter()
        .map(|case| Compared {
            ours: read::answer(&case),
            reasons: reasons_of(&reasons, &case.name),
            case,
        })
        .collect();

    let names: BTreeSet<_> = compared.iter().map(|found| &found.case.name).collect();
    assert_eq!(names.len(), compared.len(), "two cases of one name");
    let of_cases = reasons["cases"].as_object().unwrap();
    for name in of_cases.keys() {
        assert!(names.contains(name), "reasons of no case: {name}");
    }

    check_file("fixtures/text/ours.json", &answer::file(&compared));
    let wrong = wrong_reasons(&compared, &reasons);
    if is_writing() || wrong.is_empty() {
        check_file(
            "docs/text-readers.md",
            &page::page(&data, &reasons, &compared),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    print_counts(&compared);
}

/// Differences without a reason, and reasons without a difference.
fn wrong_reasons(compared: &[Compared], reasons: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    let known = reasons["reasons"].as_object().unwrap();
    for found in compared {
        let name = &found.case.name;
        for (reader, answer) in READERS.iter().zip(&found.case.answers) {
            let reason = found.reasons.get(*reader);
            used.extend(reason);
            let is_same = is_same(&found.case, &found.ours, answer);
            match reason {
                None if !is_same => wrong.push(format!(
                    "{name}: no reason why {reader} differs: {answer:?}, ours: {:?}",
                    found.ours
                )),
                Some(_) if is_same => wrong.push(format!("{name}: {reader} does not differ")),
                Some(reason) if !known.contains_key(reason) => {
                    wrong.push(format!("{name}: no reason is named {reason}"));
                }
                _ => {}
            }
        }
    }
    let unused = known.keys().filter(|reason| !used.contains(reason));
    wrong.extend(unused.map(|reason| format!("no case has the reason {reason}")));
    wrong
}

fn print_counts(compared: &[Compared]) {
    let num_json = compared.iter().filter(|found| found.case.is_json).count();
    println!(
        "{} CSV and {num_json} JSON texts",
        compared.len() - num_json
    );
    for (index, reader) in READERS.iter().enumerate() {
        let differs =
            |found: &&Compared| !is_same(&found.case, &found.ours, &found.case.answers[index]);
        println!(
            "{} differ from {reader}",
            compared.iter().filter(differs).count()
        );
    }
}
