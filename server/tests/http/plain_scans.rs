//! Which plans can begin at any row of their source.

use std::fs;
use std::time::Duration;

use colonnade_server::backend::PlannedQuery;
use colonnade_server::backend::embedded::{Engine, EngineConfig};
use colonnade_server::backend::request::{Request, Source, TableQuery};
use colonnade_server::order::{Order, RowRange};
use colonnade_server::source::open_all;
use tempfile::TempDir;

use crate::support::*;

/// An engine with these sources and small budgets.
pub(crate) fn engine(folder: &TempDir, sources: &[String]) -> Engine {
    let config = EngineConfig {
        memory_bytes: 64 << 20,
        spill_bytes: 1 << 20,
        spill_folder: folder.path().to_owned(),
        num_threads: 2,
        plans_sql: true,
    };
    Engine::try_new(&config, open_all(sources).unwrap()).unwrap()
}

/// A request for rows of a source.
pub(crate) fn request(source: Source, first_row: u64, limit: Option<u64>) -> Request {
    Request {
        id: uuid::Uuid::new_v4(),
        source,
        range: RowRange { first_row, limit },
        batch_bytes: 1 << 20,
        linger: Duration::ZERO,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_scans_are_seekable() {
    let folder = TempDir::new().unwrap();
    write_rows(&folder.path().join("p.parquet"), 0, 90);
    fs::write(folder.path().join("c.csv"), "n\n1\n2\n").unwrap();
    let sources = [
        path(folder.path(), "p.parquet"),
        path(folder.path(), "c.csv"),
    ];
    let engine = engine(&folder, &sources);
    let sql = |sql: &str| Source::Sql(sql.into());
    let seekable = |planned: &PlannedQuery| (planned.is_seekable, planned.num_rows);
    for (text, offset, limit, num_rows) in [
        ("select * from p", 0, None, 90),
        ("select * from p", 10, None, 90),
        ("select * from p", 10, Some(5), 90),
        ("select * from p", 85, Some(50), 90),
        ("select * from p", 500, Some(50), 90),
        (
            "select t, n as m from p as q limit 20 offset 80",
            3,
            None,
            10,
        ),
        (
            "select t from (select n, t from p) limit 20",
            3,
            Some(4),
            20,
        ),
    ] {
        let planned = engine
            .plan(&request(sql(text), offset, limit), None, None)
            .await
            .unwrap();
        assert_eq!(seekable(&planned), (true, Some(num_rows)), "{text}");
        assert_eq!(
            (planned.order, planned.range.first_row),
            (Order::Partition, 0)
        );
    }
    let table = Source::Table(TableQuery {
        table: "p".into(),
        columns: Some(vec!["t".into()]),
        ..TableQuery::default()
    });
    let planned = engine
        .plan(&request(table, 7, None), None, None)
        .await
        .unwrap();
    assert_eq!(seekable(&planned), (true, Some(90)));
    for text in [
        "select * from c",
        "select n + 1 from p",
        "select * from p where n > 5",
        "select * from p order by t",
        "select distinct n from p",
        "select * from p union all select * from p",
        "select * from (select * from p limit 5)",
        "select count(*) from p",
    ] {
        let planned = engine
            .plan(&request(sql(text), 3, None), None, None)
            .await
            .unwrap();
        assert_eq!(seekable(&planned), (false, None), "{text}");
    }
}
