//! The page `docs/text-readers.md`.

use serde_json::Value;

use crate::answer::Answer;
use crate::compare::{Difference, difference, is_same, shown};
use crate::{Compared, READERS};

const MAX_SHOWN_CHARS: usize = 32;

pub(crate) fn page(data: &Value, reasons: &Value, compared: &[Compared]) -> String {
    let version = |reader: &&str| {
        let version = data["versions"][*reader].as_str().unwrap();
        format!("{} {version}", title(reader))
    };
    let mut page = format!(
        "# How Colonnade reads unusual CSV and JSON\n\n\
        This page compares Colonnade with {} on {} texts, each reader with its default settings. \
        Colonnade shows what a text says, or an error with its line. It does not drop a digit, a zone, a \
        field or a row. A number with a fraction becomes the nearest double if it has at most 17 digits, \
        as the other readers have it, and if that double gives all the digits back. \
        [Text files](sources.md#text-files) has the rules.\n\n\
        The tests write and check this page (`text/tests/oracles`). `fixtures/text` has all texts and \
        answers.\n\n\
        | reader | same names and values as Colonnade | other answers |\n| --- | --- | --- |\n",
        READERS.iter().map(version).collect::<Vec<_>>().join(", "),
        compared.len(),
    );
    for (index, reader) in READERS.iter().enumerate() {
        let is_same =
            |found: &&Compared| is_same(&found.case, &found.ours, &found.case.answers[index]);
        let num_same = compared.iter().filter(is_same).count();
        let num_others = compared.len() - num_same;
        page += &format!("| {} | {num_same} | {num_others} |\n", title(reader));
    }
    page += "\n## Why answers differ\n\n| reason | texts | what Colonnade does, and why |\n| --- | --- | --- |\n";
    for (id, sentence) in reasons["reasons"].as_object().unwrap() {
        let has_reason = |found: &&Compared| found.reasons.values().any(|reason| reason == id);
        let num_cases = compared.iter().filter(has_reason).count();
        page += &format!("| {id} | {num_cases} | {} |\n", sentence.as_str().unwrap());
    }
    page += "\n## Texts\n\nTexts of which all readers make the same are left out. `=` means the same \
        names and values as Colonnade; a value is the first that differs. Colonnade's column shows the \
        types of the columns with the values of the last one, or the error.\n";
    for group in
        compared.chunk_by(|a, b| a.case.kind == b.case.kind && a.case.is_json == b.case.is_json)
    {
        page += &kind_table(group);
    }
    page
}

fn title(reader: &str) -> &str {
    match reader {
        "duckdb" => "DuckDB",
        other => other,
    }
}

fn kind_table(group: &[Compared]) -> String {
    let format = if group[0].case.is_json { "JSON" } else { "CSV" };
    let titles = READERS.map(title).join(" | ");
    let mut table = format!(
        "\n### {format}: {}\n\n| text | Colonnade | {titles} | reasons |\n| --- | --- | --- | --- | --- | --- | --- |\n",
        group[0].case.kind.to_lowercase(),
    );
    for found in group.iter().filter(|found| !found.reasons.is_empty()) {
        let theirs = found.case.answers.iter();
        let cells: Vec<_> = theirs.map(|answer| their_cell(found, answer)).collect();
        let mut reasons: Vec<_> = found.reasons.values().map(String::as_str).collect();
        reasons.sort_unstable();
        reasons.dedup();
        table += &format!(
            "| {} | {} | {} | {} |\n",
            found.case.what.replace('|', "\\|"),
            our_cell(&found.ours),
            cells.join(" | "),
            reasons.join(", ")
        );
    }
    table
}

fn our_cell(ours: &Answer) -> String {
    let (columns, rows) = match ours {
        Answer::Error(error) => return format!("error: {}", error.replace('|', "\\|")),
        Answer::Table { columns, rows } => (columns, rows),
    };
    let types = columns.iter().map(|(_, data_type)| data_type.as_str());
    // Cases of one column have the number of the row before it.
    let num_left_out = usize::from(columns.first().is_some_and(|(name, _)| name == "id"));
    let types: Vec<_> = types.skip(num_left_out).collect();
    let values = rows.iter().filter_map(|row| row.last()).take(3).map(code);
    let values: Vec<_> = values.collect();
    let more = if rows.len() > 3 { ", …" } else { "" };
    format!("{}: {}{more}", cut(&types.join(", ")), values.join(", "))
}

fn their_cell(found: &Compared, theirs: &Answer) -> String {
    let Some(difference) = difference(&found.case, &found.ours, theirs) else {
        return "=".into();
    };
    let Answer::Table { columns, rows } = theirs else {
        return "error".into();
    };
    match difference {
        Difference::Error => "rows".into(),
        Difference::Names => {
            let names = columns.iter().map(|(name, _)| name.as_str());
            let names: Vec<_> = names.collect();
            format!("names {}", code(&names.join(", ").into()))
        }
        Difference::NumRows if rows.len() == 1 => "1 row".into(),
        Difference::NumRows => format!("{} rows", rows.len()),
        Difference::Cell(row, column) => code(&rows[row][column]),
    }
}

/// A value as code, cut and with its control characters escaped.
fn code(value: &Value) -> String {
    let text = shown(value);
    if value.is_null() || text.is_empty() {
        return if value.is_null() { "null" } else { "empty" }.into();
    }
    let escaped: String = text
        .chars()
        .take(MAX_SHOWN_CHARS + 1)
        .flat_map(escape)
        .collect();
    let text = cut(&escaped).replace('|', "\\|");
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}

fn escape(character: char) -> Vec<char> {
    if character == '"' || character == '\'' || character == '\\' {
        return vec![character];
    }
    character.escape_debug().collect()
}

fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}
