//! Statements that are deep, wide or costly in one way each.

use crate::functions::Functions;
use crate::random::Random;

pub(crate) fn hostile(random: &mut Random, functions: &Functions) -> String {
    let deep = *random.pick(&[10, 50, 200, 1000, 5000]);
    let few = 2 + random.below(40);
    let rows = *random.pick(&["every_type", "lineitem", "lineitem a cross join lineitem b"]);
    let value = *random.pick(&["l_orderkey", "l_comment", "l_shipdate", "1", "'x'", "null"]);
    let function = random.pick(&functions.scalar).name.clone();
    let aggregate = random.pick(&functions.aggregate).name.clone();
    let nested = |open: &str, middle: &str, close: &str, count: usize| {
        format!("{}{middle}{}", open.repeat(count), close.repeat(count))
    };
    let chain = |item: &str, between: &str, count: usize| vec![item; count].join(between);
    match random.below(24) {
        0 => format!(
            "select {} from lineitem",
            nested(&format!("{function}("), value, ")", deep)
        ),
        1 => format!("select {} from lineitem", nested("(", value, ")", deep)),
        2 => format!("select {} from lineitem", chain("l_orderkey", " + ", deep)),
        3 => format!(
            "select 1 from lineitem where {}",
            chain("l_orderkey > 1", " and ", deep)
        ),
        4 => format!("select {} from lineitem", nested("not ", "true", "", deep)),
        5 => format!("select {}", nested("cast(", "1", " as int)", few)),
        6 => format!(
            "select {}",
            nested("case when true then ", "1", " end", few)
        ),
        7 => nested("select * from (", "select 1 as a", ") t", deep.min(400)),
        8 => {
            let steps: Vec<String> = (1..=few)
                .map(|n| {
                    format!(
                        "c{n} as (select a.k from c{0} a join c{0} b on a.k = b.k)",
                        n - 1
                    )
                })
                .collect();
            format!(
                "with c0 as (select 1 as k), {} select * from c{few}",
                steps.join(", ")
            )
        }
        9 => chain("select l_comment from lineitem", " union all ", few),
        10 => format!(
            "select 1 from lineitem where l_orderkey in ({})",
            chain("7", ", ", deep)
        ),
        11 => format!("select {} from {rows}", chain(value, ", ", deep)),
        12 => format!("select length('{}')", chain("x", "", 40 * deep)),
        13 => {
            let tables: Vec<String> = (0..few.min(20)).map(|n| format!("lineitem t{n}")).collect();
            format!("select count(*) from {}", tables.join(" natural join "))
        }
        14 => format!("select {}", nested("[", value, "]", deep)),
        15 => format!("select {}", nested("named_struct('a', ", "1", ")", deep)),
        16 => format!("select {}'1 day'", "interval ".repeat(deep)),
        17 => format!(
            "select arrow_cast(null, '{}')",
            nested("List(", "Int64", ")", deep)
        ),
        18 => {
            let keys = [
                "l_orderkey",
                "l_partkey",
                "l_suppkey",
                "l_tax",
                "l_shipdate",
                "l_comment",
                "l_quantity",
            ];
            format!(
                "select count(*) from lineitem group by cube({})",
                keys[..1 + few % 7].join(", ")
            )
        }
        19 => format!(
            "select {aggregate}({value}) over (order by l_comment), count(*) over () from lineitem"
        ),
        20 => format!(
            "select {}, 1 from {rows}",
            chain("lpad('x', 8000, 'y')", ", ", few)
        ),
        21 => format!("select {function}(repeat('x', {}))", deep * 10_000),
        22 => format!("select {aggregate}({value}), {aggregate}(distinct {value}) from {rows}"),
        _ => format!(
            "with recursive r as (select 1 as n union all select n + 1 from r where n < {}) select count(*) from r",
            deep * 100
        ),
    }
}
