//! Answers as JSON.

use serde_json::{Value, json};

use crate::Compared;
use crate::digits;

/// What a reader makes of a text.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Error(String),
    Table {
        /// Name and type of each column.
        columns: Vec<(String, String)>,
        /// The cells of each row.
        rows: Vec<Vec<Value>>,
    },
}

impl Answer {
    pub(crate) fn parse(answer: &Value) -> Self {
        if let Some(error) = answer["error"].as_str() {
            return Self::Error(error.into());
        }
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let columns = answer["columns"].as_array().unwrap().iter();
        let mut rows = Vec::new();
        for row in answer["rows"].as_array().unwrap() {
            let (cells, times) = match row.get("times") {
                Some(times) => (&row["cells"], digits::as_count(times).unwrap()),
                None => (row, 1),
            };
            rows.extend((0..times).map(|_| cells.as_array().unwrap().clone()));
        }
        Self::Table {
            columns: columns
                .map(|pair| (text(&pair[0]), text(&pair[1])))
                .collect(),
            rows,
        }
    }

    fn to_json(&self) -> Value {
        let (columns, rows) = match self {
            Self::Error(error) => return json!({ "error": error }),
            Self::Table { columns, rows } => (columns, rows),
        };
        let runs = rows.chunk_by(|row, next| row == next);
        let row = |run: &[Vec<Value>]| match run {
            [row] => json!(row),
            _ => json!({ "cells": run[0], "times": run.len() }),
        };
        json!({ "columns": columns, "rows": runs.map(row).collect::<Vec<_>>() })
    }
}

/// The content of `ours.json`: a line for each case.
pub(crate) fn file(compared: &[Compared]) -> String {
    let line = |found: &Compared| {
        format!(
            "{:?}:{}",
            found.case.name,
            digits::write(&found.ours.to_json())
        )
    };
    let lines: Vec<_> = compared.iter().map(line).collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// The bytes of a text in `cases.json`.
pub(crate) fn unpack(text: &Value) -> Vec<u8> {
    match text {
        Value::String(text) => text.as_bytes().to_vec(),
        Value::Array(pieces) => pieces.iter().flat_map(unpack_piece).collect(),
        _ => decode_base64(text["base64"].as_str().unwrap()),
    }
}

fn unpack_piece(piece: &Value) -> Vec<u8> {
    let times = digits::as_count(&piece[1]).unwrap_or(1);
    let text = piece[0].as_str().or_else(|| piece.as_str()).unwrap();
    text.repeat(times).into_bytes()
}

fn decode_base64(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let mut bits = 0_u32;
    for (index, byte) in text.trim_end_matches('=').bytes().enumerate() {
        let digit = digits.iter().position(|&digit| digit == byte).unwrap();
        bits = bits << 6 | digit as u32;
        let num_left = 6 - 2 * (index as u32 % 4);
        if index % 4 > 0 {
            bytes.push((bits >> num_left) as u8);
        }
    }
    bytes
}
