use super::*;
use crate::{MAX_COLUMNS, TextErrorKind};

fn inferred(text: &str) -> Result<Inferred, TextError> {
    let mut inference = Inference::new(&Dialect::default());
    inference.push(text.as_bytes())?;
    inference.finish()?;
    let empty = TextError::new(TextErrorKind::Empty, 0);
    inference.into_inferred().ok_or(empty)
}

fn words(inferred: &Inferred) -> Vec<String> {
    let columns = inferred.names.iter().zip(&inferred.facts);
    let word = |(name, facts): (&String, &Facts)| {
        format!("{name} {}", crate::type_word(&facts.data_type()))
    };
    columns.map(word).collect()
}

#[test]
fn names_come_from_the_header() {
    let found = inferred("a,,a,\"b\"\"c\"\n1,2,x,1.5\n").unwrap();
    let expected = ["a int64", "column_2 int64", "a text", "b\"c float64"];
    assert_eq!(words(&found), expected);
    assert_eq!(found.num_rows, 1);
    let found = inferred("a,b\n").unwrap();
    assert_eq!(words(&found), ["a text", "b text"]);
    assert_eq!(found.num_rows, 0);
    assert_eq!(inferred("\n").unwrap_err().kind, TextErrorKind::Empty);
}

#[test]
fn columns_of_texts_merge_by_their_names() {
    let mut found = inferred("a,b\n1,2\n").unwrap();
    let other = inferred("a,b\n1.5,\n3,\n").unwrap();
    assert_eq!(found.merge(other), Some(vec![0, 1]));
    assert_eq!(words(&found), ["a float64", "b int64"]);
    assert_eq!(found.num_rows, 3);
    let other = inferred("c,b,d\nx,y,1\n").unwrap();
    assert_eq!(found.merge(other), Some(vec![2, 1, 3]));
    assert_eq!(words(&found), ["a float64", "b text", "c text", "d int64"]);
    assert_eq!(found.merge(inferred("1,x\n2,y\n").unwrap()), None);
    assert_eq!((found.names.len(), found.num_rows), (4, 4));
}

fn sample(max_rows: u64) -> Inference {
    Inference::new(&Dialect::default()).with_max_rows(max_rows)
}

#[test]
fn samples_end_after_their_rows_or_before_wrong_records() {
    let mut two = sample(2);
    two.push(b"a,b\n1,2\n3,4\nx,y\n").unwrap();
    assert!(two.is_done());
    two.finish().unwrap();
    let found = two.into_inferred().unwrap();
    assert_eq!(words(&found), ["a int64", "b int64"]);
    assert_eq!(found.num_rows, 2);

    let mut ragged = sample(9);
    ragged.push(b"a,b\n1,2\n3\n").unwrap();
    ragged.finish().unwrap();
    assert_eq!(ragged.num_rows(), 1);
    assert!(sample(9).push(b"a,b\n3\n").is_err());
    assert!(inferred("a,b\n1,2\n3\n").is_err());
}

#[test]
fn a_record_has_at_most_so_many_fields() {
    let commas = |num_fields: usize| format!("{}\n", ",".repeat(num_fields - 1));
    let most = inferred(&commas(MAX_COLUMNS)).unwrap();
    assert_eq!(most.names.len(), MAX_COLUMNS);
    let error = inferred(&commas(MAX_COLUMNS + 1)).unwrap_err();
    assert_eq!(error.kind, TextErrorKind::TooManyColumns);
    let text = format!("a,b\n1,2\n{}", commas(MAX_COLUMNS + 1));
    assert_eq!(inferred(&text).unwrap_err().offset_bytes, 8);
}

#[test]
fn a_cut_record_at_the_end_of_a_sample_is_not_read() {
    let mut inference = Inference::new(&Dialect::default());
    inference.push(b"a,b\n1,2\n3,4.").unwrap();
    let found = inference.into_inferred().unwrap();
    assert_eq!(words(&found), ["a int64", "b int64"]);
    assert_eq!(found.num_rows, 1);
}
