//! Results with several columns of one name.

use serde_json::json;

use crate::query::small;
use crate::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn columns_of_a_statement_can_have_the_same_name() {
    let server = small().await;
    let limited = "from t order by n desc limit 2";
    for (sql, names, rows) in [
        (
            "select count(*), count(*) from t",
            &["count(*)", "count(*) (2)"][..],
            1,
        ),
        ("select n, n from t", &["n", "n (2)"], 1000),
        (
            "select t.n, n + 1, n, n + 1 from t",
            &["n", "n + 1", "n (2)", "n + 1 (2)"],
            1000,
        ),
        (&format!("select *, n {limited}"), &["n", "t", "n (2)"], 2),
        (
            &format!("select n as a, n + 1 as a {limited}"),
            &["a", "a (2)"],
            2,
        ),
        (
            "select n, n from t union all select n, n from t",
            &["n", "n (2)"],
            2000,
        ),
        (
            "select n = 1.50, n = 1.5 from t",
            &["n = 1.50", "n = 1.5"],
            1000,
        ),
        (
            "select a.n, b.n from t a join t b on a.n = b.n",
            &["n", "n (2)"],
            1000,
        ),
    ] {
        let batch = server.sql(sql).await.rows();
        let schema = batch.schema();
        let fields = schema.fields().iter().map(|field| field.name().as_str());
        assert_eq!(fields.collect::<Vec<_>>(), names, "{sql}");
        assert_eq!(batch.num_rows(), rows, "{sql}");
    }
    let sql = format!("select n, n + 1 as n {limited}");
    server.post(&json!({ "sql": sql, "id": id(1) })).await;
    let again = json!({ "query": id(1), "columns": ["n (2)"], "sort": ["n (2)"] });
    assert_eq!(server.post(&again).await.numbers(), [999, 1000]);
    let plan = server.sql("explain select n, n from t").await.rows();
    assert!(plan.num_rows() > 0);
    let nested = "select * from (select n, n from t)";
    server.sql(nested).await.assert_refused(400, "sql_error");
}
