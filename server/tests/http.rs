//! Tests of the real routes on a real socket.

// The lint does not recognise helpers of an integration test as test code.
#![allow(clippy::unwrap_used)]

#[path = "http/client.rs"]
mod client;
#[cfg(target_os = "linux")]
#[path = "http/descriptors.rs"]
mod descriptors;
#[path = "http/engines.rs"]
mod engines;
#[path = "http/exact_times.rs"]
mod exact_times;
#[path = "http/exchanges.rs"]
mod exchanges;
#[path = "http/fake_flight.rs"]
mod fake_flight;
#[path = "http/fake_spark.rs"]
mod fake_spark;
#[path = "http/played.rs"]
mod played;
#[path = "http/result_bytes.rs"]
mod result_bytes;
#[path = "http/sail.rs"]
mod sail;
#[path = "http/scripted.rs"]
mod scripted;
#[path = "http/served.rs"]
mod served;
#[path = "http/support.rs"]
mod support;
#[path = "http/web_files.rs"]
mod web_files;

#[path = "http/idle.rs"]
mod idle;
#[path = "http/json_functions.rs"]
mod json_functions;
#[path = "http/kernels.rs"]
mod kernels;
#[path = "http/lake_folders.rs"]
mod lake_folders;
#[path = "http/lakes.rs"]
mod lakes;
#[path = "http/left_out.rs"]
mod left_out;
#[path = "http/merged_files.rs"]
mod merged_files;
#[path = "http/messages.rs"]
mod messages;

#[path = "http/arrow_files.rs"]
mod arrow_files;
#[path = "http/backends.rs"]
mod backends;
#[path = "http/compressed_files.rs"]
mod compressed_files;
#[path = "http/conformance.rs"]
mod conformance;
#[path = "http/connections.rs"]
mod connections;
#[path = "http/exact_numbers.rs"]
mod exact_numbers;
#[path = "http/export.rs"]
mod export;
#[path = "http/export_route.rs"]
mod export_route;
#[path = "http/failure.rs"]
mod failure;
#[path = "http/find.rs"]
mod find;
#[path = "http/flight.rs"]
mod flight;
#[path = "http/functions.rs"]
mod functions;
#[path = "http/grouping_sets.rs"]
mod grouping_sets;
#[path = "http/guard.rs"]
mod guard;
#[path = "http/metrics.rs"]
mod metrics;
#[path = "http/notations.rs"]
mod notations;
#[path = "http/one_id.rs"]
mod one_id;
#[path = "http/one_nan.rs"]
mod one_nan;
#[path = "http/openapi.rs"]
mod openapi;
#[path = "http/order.rs"]
mod order;
#[path = "http/overflow.rs"]
mod overflow;
#[path = "http/parquet_files.rs"]
mod parquet_files;
#[path = "http/plain_scans.rs"]
mod plain_scans;
#[cfg(unix)]
#[path = "http/program.rs"]
mod program;
#[path = "http/progress.rs"]
mod progress;
#[path = "http/pruning.rs"]
mod pruning;
#[path = "http/query.rs"]
mod query;
#[path = "http/quotas.rs"]
mod quotas;
#[path = "http/repartitioning.rs"]
mod repartitioning;
#[path = "http/repeatable.rs"]
mod repeatable;
#[path = "http/repeated_names.rs"]
mod repeated_names;
#[path = "http/requery.rs"]
mod requery;
#[path = "http/results.rs"]
mod results;
#[path = "http/resume.rs"]
mod resume;
#[path = "http/round_trips.rs"]
mod round_trips;
#[path = "http/s3_sources.rs"]
mod s3_sources;
#[path = "http/seek.rs"]
mod seek;
#[path = "http/session.rs"]
mod session;
#[path = "http/sharing.rs"]
mod sharing;
#[path = "http/snapshot.rs"]
mod snapshot;
#[path = "http/sources.rs"]
mod sources;
#[path = "http/spark.rs"]
mod spark;
#[path = "http/struct_fields.rs"]
mod struct_fields;
#[path = "http/summary.rs"]
mod summary;
#[path = "http/tables.rs"]
mod tables;
#[path = "http/text_files.rs"]
mod text_files;
#[path = "http/text_options.rs"]
mod text_options;
#[path = "http/tls.rs"]
mod tls;
#[path = "http/uploads.rs"]
mod uploads;
#[path = "http/validate.rs"]
mod validate;
#[path = "http/web_sources.rs"]
mod web_sources;
#[path = "http/wide_files.rs"]
mod wide_files;
#[path = "http/wire.rs"]
mod wire;
