#pragma once

/// The definitions of the plain code, which headers only declare where
/// MDSTREAM_SEPARATE_COMPILATION is defined. Include it in one source file of such a program, and
/// define MDSTREAM_WITH_NAME for each component that the program links (MDSTREAM_WITH_ZSTD,
/// MDSTREAM_WITH_CURL ...). With MDSTREAM_SRC_PART defined as a number, only that part of it:
/// several files then share the work. The CMake target mdstream::compiled does all of that.
///
/// tools/make-src.py writes this file.

#ifndef MDSTREAM_SEPARATE_COMPILATION
#error \
    "define MDSTREAM_SEPARATE_COMPILATION for the whole program, or do not include <mdstream/src.hpp>"
#endif

#if !defined(MDSTREAM_SRC_PART) || MDSTREAM_SRC_PART == 1
#include <mdstream/net/detail/impl/access.ipp>
#include <mdstream/net/detail/impl/aws_config.ipp>
#include <mdstream/net/detail/impl/aws_credentials.ipp>
#include <mdstream/net/detail/impl/aws_key_texts.ipp>
#include <mdstream/net/detail/impl/aws_process.ipp>
#include <mdstream/net/detail/impl/body_receiver.ipp>
#include <mdstream/net/detail/impl/environment.ipp>
#include <mdstream/net/detail/impl/google_files.ipp>
#include <mdstream/net/detail/impl/http_headers.ipp>
#include <mdstream/net/detail/impl/http_message.ipp>
#include <mdstream/net/detail/impl/http_url.ipp>
#include <mdstream/net/detail/impl/ini.ipp>
#include <mdstream/net/detail/impl/pem.ipp>
#include <mdstream/net/detail/impl/percent.ipp>
#include <mdstream/net/detail/impl/program.ipp>
#include <mdstream/net/detail/impl/quote.ipp>
#include <mdstream/net/detail/impl/settings_file.ipp>
#include <mdstream/net/detail/impl/time_text.ipp>
#include <mdstream/net/detail/impl/token_bounds.ipp>
#include <mdstream/net/detail/impl/uri.ipp>
#include <mdstream/net/detail/impl/web_token.ipp>
#include <mdstream/net/detail/impl/xml.ipp>
#if defined(MDSTREAM_WITH_CURL)
#include <mdstream/net/detail/impl/aws_metadata.ipp>
#include <mdstream/net/detail/impl/curl/failure.ipp>
#include <mdstream/net/detail/impl/curl/handles.ipp>
#include <mdstream/net/detail/impl/curl/request_queue.ipp>
#include <mdstream/net/detail/impl/curl/transfer.ipp>
#include <mdstream/net/detail/impl/fetch.ipp>
#include <mdstream/net/detail/impl/http_client.ipp>
#include <mdstream/net/detail/impl/oauth.ipp>
#include <mdstream/net/detail/impl/program_access.ipp>
#endif
#if defined(MDSTREAM_WITH_CURL) && defined(MDSTREAM_WITH_OPENSSL)
#include <mdstream/net/detail/impl/aws_profile.ipp>
#include <mdstream/net/detail/impl/aws_sso.ipp>
#include <mdstream/net/detail/impl/aws_sts.ipp>
#include <mdstream/net/detail/impl/google_access.ipp>
#include <mdstream/net/detail/impl/google_subject.ipp>
#endif
#if defined(MDSTREAM_WITH_OPENSSL)
#include <mdstream/net/detail/impl/azure_signature.ipp>
#include <mdstream/net/detail/impl/oci_signature.ipp>
#include <mdstream/net/detail/impl/rsa.ipp>
#include <mdstream/net/detail/impl/sha256.ipp>
#include <mdstream/net/detail/impl/signature_v4.ipp>
#include <mdstream/net/detail/impl/v4_chunked_body.ipp>
#include <mdstream/net/detail/impl/x509.ipp>
#endif
#endif

#if !defined(MDSTREAM_SRC_PART) || MDSTREAM_SRC_PART == 2
#include <mdstream/store/detail/impl/alipan.ipp>
#include <mdstream/store/detail/impl/any_async_store.ipp>
#include <mdstream/store/detail/impl/azure/options.ipp>
#include <mdstream/store/detail/impl/blocking.ipp>
#include <mdstream/store/detail/impl/bounded_calls.ipp>
#include <mdstream/store/detail/impl/call.ipp>
#include <mdstream/store/detail/impl/call_gate.ipp>
#include <mdstream/store/detail/impl/cloud/json_refusal.ipp>
#include <mdstream/store/detail/impl/cloud/settings.ipp>
#include <mdstream/store/detail/impl/dbfs/options.ipp>
#include <mdstream/store/detail/impl/dbfs/workspace_api.ipp>
#include <mdstream/store/detail/impl/digest.ipp>
#include <mdstream/store/detail/impl/fault_injecting.ipp>
#include <mdstream/store/detail/impl/file.ipp>
#include <mdstream/store/detail/impl/hedged.ipp>
#include <mdstream/store/detail/impl/hf/messages.ipp>
#include <mdstream/store/detail/impl/hf/signed_urls.ipp>
#include <mdstream/store/detail/impl/http_range.ipp>
#include <mdstream/store/detail/impl/limited.ipp>
#include <mdstream/store/detail/impl/local.ipp>
#include <mdstream/store/detail/impl/memory.ipp>
#include <mdstream/store/detail/impl/metered.ipp>
#include <mdstream/store/detail/impl/oci/options.ipp>
#include <mdstream/store/detail/impl/oci/regions.ipp>
#include <mdstream/store/detail/impl/opened_store.ipp>
#include <mdstream/store/detail/impl/operations.ipp>
#include <mdstream/store/detail/impl/patient_store.ipp>
#include <mdstream/store/detail/impl/prefixed.ipp>
#include <mdstream/store/detail/impl/ranged_read.ipp>
#include <mdstream/store/detail/impl/retrying.ipp>
#include <mdstream/store/detail/impl/s3/messages.ipp>
#include <mdstream/store/detail/impl/s3/refusal.ipp>
#include <mdstream/store/detail/impl/sftp/key_file.ipp>
#include <mdstream/store/detail/impl/sftp/listing.ipp>
#include <mdstream/store/detail/impl/shared_retry_budget.ipp>
#include <mdstream/store/detail/impl/stops.ipp>
#include <mdstream/store/detail/impl/store.ipp>
#include <mdstream/store/detail/impl/streamed_read.ipp>
#include <mdstream/store/detail/impl/throttled.ipp>
#if defined(MDSTREAM_WITH_CURL)
#include <mdstream/store/detail/impl/azure/cli.ipp>
#include <mdstream/store/detail/impl/azure/tenants.ipp>
#include <mdstream/store/detail/impl/cloud/client.ipp>
#include <mdstream/store/detail/impl/cloud/listing.ipp>
#include <mdstream/store/detail/impl/cloud/read.ipp>
#include <mdstream/store/detail/impl/cloud/store.ipp>
#include <mdstream/store/detail/impl/cloud/upload.ipp>
#include <mdstream/store/detail/impl/dbfs.ipp>
#include <mdstream/store/detail/impl/dbfs/files.ipp>
#include <mdstream/store/detail/impl/dbfs/keys.ipp>
#include <mdstream/store/detail/impl/dbfs/logins.ipp>
#include <mdstream/store/detail/impl/dbfs/read.ipp>
#include <mdstream/store/detail/impl/dbfs/volumes.ipp>
#include <mdstream/store/detail/impl/gs/session.ipp>
#include <mdstream/store/detail/impl/hf/commits.ipp>
#include <mdstream/store/detail/impl/http.ipp>
#include <mdstream/store/detail/impl/sftp.ipp>
#include <mdstream/store/detail/impl/sftp/session.ipp>
#endif
#if defined(MDSTREAM_WITH_CURL) && defined(MDSTREAM_WITH_OPENSSL)
#include <mdstream/store/detail/impl/azure.ipp>
#include <mdstream/store/detail/impl/azure/api.ipp>
#include <mdstream/store/detail/impl/azure/keys.ipp>
#include <mdstream/store/detail/impl/gs.ipp>
#include <mdstream/store/detail/impl/gs/api.ipp>
#include <mdstream/store/detail/impl/hf.ipp>
#include <mdstream/store/detail/impl/hf/api.ipp>
#include <mdstream/store/detail/impl/hf/write.ipp>
#include <mdstream/store/detail/impl/oci.ipp>
#include <mdstream/store/detail/impl/oci/api.ipp>
#include <mdstream/store/detail/impl/oci/instance.ipp>
#include <mdstream/store/detail/impl/oci/keys.ipp>
#include <mdstream/store/detail/impl/oci/workload.ipp>
#include <mdstream/store/detail/impl/s3.ipp>
#include <mdstream/store/detail/impl/s3/api.ipp>
#include <mdstream/store/detail/impl/s3/credentials.ipp>
#include <mdstream/store/detail/impl/s3/session.ipp>
#endif
#if defined(MDSTREAM_WITH_OPENSSL)
#include <mdstream/store/detail/impl/cloud/checksums.ipp>
#include <mdstream/store/detail/impl/cloud/part_digests.ipp>
#include <mdstream/store/detail/impl/oci/access.ipp>
#include <mdstream/store/detail/impl/s3/access.ipp>
#include <mdstream/store/detail/impl/s3/options.ipp>
#include <mdstream/store/detail/impl/s3/part_tags.ipp>
#endif
#endif

#if !defined(MDSTREAM_SRC_PART) || MDSTREAM_SRC_PART == 3
#include <mdstream/checkpoint/detail/impl/box.ipp>
#include <mdstream/checkpoint/detail/impl/cast.ipp>
#include <mdstream/checkpoint/detail/impl/checked_read.ipp>
#include <mdstream/checkpoint/detail/impl/checkpoint.ipp>
#include <mdstream/checkpoint/detail/impl/choice.ipp>
#include <mdstream/checkpoint/detail/impl/clean.ipp>
#include <mdstream/checkpoint/detail/impl/commit.ipp>
#include <mdstream/checkpoint/detail/impl/cut_tensors.ipp>
#include <mdstream/checkpoint/detail/impl/export.ipp>
#include <mdstream/checkpoint/detail/impl/file_plan.ipp>
#include <mdstream/checkpoint/detail/impl/import.ipp>
#include <mdstream/checkpoint/detail/impl/layout.ipp>
#include <mdstream/checkpoint/detail/impl/layout_text.ipp>
#include <mdstream/checkpoint/detail/impl/plain_files.ipp>
#include <mdstream/checkpoint/detail/impl/protocol.ipp>
#include <mdstream/checkpoint/detail/impl/read_plan.ipp>
#include <mdstream/checkpoint/detail/impl/renamed.ipp>
#include <mdstream/checkpoint/detail/impl/retention.ipp>
#include <mdstream/checkpoint/detail/impl/run_keys.ipp>
#include <mdstream/checkpoint/detail/impl/run_store.ipp>
#include <mdstream/checkpoint/detail/impl/run_texts.ipp>
#include <mdstream/checkpoint/detail/impl/safetensors.ipp>
#include <mdstream/checkpoint/detail/impl/saver.ipp>
#include <mdstream/checkpoint/detail/impl/saving.ipp>
#include <mdstream/checkpoint/detail/impl/sealed_json.ipp>
#include <mdstream/checkpoint/detail/impl/sharded_index.ipp>
#include <mdstream/checkpoint/detail/impl/snapshot_memory.ipp>
#include <mdstream/checkpoint/detail/impl/start.ipp>
#include <mdstream/checkpoint/detail/impl/tensor_list.ipp>
#include <mdstream/checkpoint/detail/impl/tiling.ipp>
#include <mdstream/raw/detail/impl/column_inference.ipp>
#include <mdstream/raw/detail/impl/csv.ipp>
#include <mdstream/raw/detail/impl/file_value.ipp>
#include <mdstream/raw/detail/impl/files.ipp>
#include <mdstream/raw/detail/impl/format.ipp>
#include <mdstream/raw/detail/impl/guess_format.ipp>
#include <mdstream/raw/detail/impl/index_builder.ipp>
#include <mdstream/raw/detail/impl/json_row.ipp>
#include <mdstream/raw/detail/impl/jsonl.ipp>
#include <mdstream/raw/detail/impl/keys.ipp>
#include <mdstream/raw/detail/impl/lines.ipp>
#include <mdstream/raw/detail/impl/megatron.ipp>
#include <mdstream/raw/detail/impl/npy.ipp>
#include <mdstream/raw/detail/impl/object_cutter.ipp>
#include <mdstream/raw/detail/impl/object_entries.ipp>
#include <mdstream/raw/detail/impl/options.ipp>
#include <mdstream/raw/detail/impl/row_index.ipp>
#include <mdstream/raw/detail/impl/row_values.ipp>
#include <mdstream/raw/detail/impl/sample_sink.ipp>
#include <mdstream/raw/detail/impl/scan_record.ipp>
#include <mdstream/raw/detail/impl/tar.ipp>
#include <mdstream/raw/detail/impl/text.ipp>
#include <mdstream/raw/detail/impl/text_value.ipp>
#include <mdstream/raw/detail/impl/tokens.ipp>
#include <mdstream/raw/detail/impl/transcode.ipp>
#include <mdstream/raw/detail/impl/webdataset.ipp>
#include <mdstream/writer/detail/impl/dataset_sink.ipp>
#include <mdstream/writer/detail/impl/index_text.ipp>
#include <mdstream/writer/detail/impl/merge_index.ipp>
#include <mdstream/writer/detail/impl/options.ipp>
#include <mdstream/writer/detail/impl/shard_uploader.ipp>
#include <mdstream/writer/detail/impl/stored_shards.ipp>
#include <mdstream/writer/detail/impl/writer_place.ipp>
#if defined(MDSTREAM_WITH_PARQUET)
#include <mdstream/raw/detail/impl/arrow_values.ipp>
#include <mdstream/raw/detail/impl/parquet.ipp>
#endif
#endif

#if !defined(MDSTREAM_SRC_PART) || MDSTREAM_SRC_PART == 4
#include <mdstream/cache/detail/impl/cache_directory.ipp>
#include <mdstream/cache/detail/impl/cache_ledger.ipp>
#include <mdstream/cache/detail/impl/catalog.ipp>
#include <mdstream/cache/detail/impl/choose_hash.ipp>
#include <mdstream/cache/detail/impl/claims_in_order.ipp>
#include <mdstream/cache/detail/impl/describe_streams.ipp>
#include <mdstream/cache/detail/impl/disk_scan.ipp>
#include <mdstream/cache/detail/impl/file_lock.ipp>
#include <mdstream/cache/detail/impl/journal.ipp>
#include <mdstream/cache/detail/impl/ledger_transaction.ipp>
#include <mdstream/cache/detail/impl/load_index.ipp>
#include <mdstream/cache/detail/impl/machine.ipp>
#include <mdstream/cache/detail/impl/map_range.ipp>
#include <mdstream/cache/detail/impl/members.ipp>
#include <mdstream/cache/detail/impl/next_use.ipp>
#include <mdstream/cache/detail/impl/object_reads.ipp>
#include <mdstream/cache/detail/impl/page_requests.ipp>
#include <mdstream/cache/detail/impl/read_soon.ipp>
#include <mdstream/cache/detail/impl/registered_streams.ipp>
#include <mdstream/cache/detail/impl/settled_index.ipp>
#include <mdstream/cache/detail/impl/shard_cache.ipp>
#include <mdstream/cache/detail/impl/shard_facts.ipp>
#include <mdstream/cache/detail/impl/shard_fetch.ipp>
#include <mdstream/cache/detail/impl/shard_requests.ipp>
#include <mdstream/cache/detail/impl/shard_seal.ipp>
#include <mdstream/cache/detail/impl/stream_origin.ipp>
#include <mdstream/cache/detail/impl/temporary_file.ipp>
#include <mdstream/schedule/detail/impl/adaptive_limit.ipp>
#include <mdstream/schedule/detail/impl/claim_order.ipp>
#include <mdstream/schedule/detail/impl/eviction.ipp>
#include <mdstream/schedule/detail/impl/fetch_window.ipp>
#include <mdstream/schedule/detail/impl/hedge.ipp>
#include <mdstream/schedule/detail/impl/line_limit.ipp>
#include <mdstream/schedule/detail/impl/range_or_whole.ipp>
#include <mdstream/schedule/detail/impl/reread_watch.ipp>
#include <mdstream/schedule/detail/impl/retry.ipp>
#include <mdstream/schedule/detail/impl/retry_budget.ipp>
#include <mdstream/schedule/detail/impl/token_bucket.ipp>
#include <mdstream/schedule/detail/impl/trouble.ipp>
#endif

#if !defined(MDSTREAM_SRC_PART) || MDSTREAM_SRC_PART == 5
#include <mdstream/stream/detail/impl/bad_samples.ipp>
#include <mdstream/stream/detail/impl/batch_engine.ipp>
#include <mdstream/stream/detail/impl/batch_reader.ipp>
#include <mdstream/stream/detail/impl/batch_ring.ipp>
#include <mdstream/stream/detail/impl/copied_samples.ipp>
#include <mdstream/stream/detail/impl/corpus.ipp>
#include <mdstream/stream/detail/impl/delivery.ipp>
#include <mdstream/stream/detail/impl/disk_watch.ipp>
#include <mdstream/stream/detail/impl/epoch_controller.ipp>
#include <mdstream/stream/detail/impl/epoch_feed.ipp>
#include <mdstream/stream/detail/impl/epoch_states.ipp>
#include <mdstream/stream/detail/impl/fetch_ahead.ipp>
#include <mdstream/stream/detail/impl/hand_out.ipp>
#include <mdstream/stream/detail/impl/held_shards.ipp>
#include <mdstream/stream/detail/impl/joined_source.ipp>
#include <mdstream/stream/detail/impl/loader.ipp>
#include <mdstream/stream/detail/impl/lookahead.ipp>
#include <mdstream/stream/detail/impl/observers.ipp>
#include <mdstream/stream/detail/impl/opened_streams.ipp>
#include <mdstream/stream/detail/impl/order_warnings.ipp>
#include <mdstream/stream/detail/impl/places.ipp>
#include <mdstream/stream/detail/impl/plan_keeper.ipp>
#include <mdstream/stream/detail/impl/policy_batches.ipp>
#include <mdstream/stream/detail/impl/prepared_samples.ipp>
#include <mdstream/stream/detail/impl/read_ahead.ipp>
#include <mdstream/stream/detail/impl/recovery.ipp>
#include <mdstream/stream/detail/impl/run.ipp>
#include <mdstream/stream/detail/impl/run_order.ipp>
#include <mdstream/stream/detail/impl/run_settings.ipp>
#include <mdstream/stream/detail/impl/sample_lookup.ipp>
#include <mdstream/stream/detail/impl/sample_ranges.ipp>
#include <mdstream/stream/detail/impl/state.ipp>
#include <mdstream/stream/detail/impl/subset.ipp>
#include <mdstream/stream/detail/impl/substitutions.ipp>
#include <mdstream/stream/detail/impl/watch.ipp>
#endif

#if !defined(MDSTREAM_SRC_PART) || MDSTREAM_SRC_PART == 6
#include <mdstream/async/detail/impl/event.ipp>
#include <mdstream/async/detail/impl/in_parallel.ipp>
#include <mdstream/async/detail/impl/pool.ipp>
#include <mdstream/async/detail/impl/runtime.ipp>
#include <mdstream/async/detail/impl/socket_watch.ipp>
#include <mdstream/async/detail/impl/start_thread.ipp>
#include <mdstream/async/detail/impl/strand.ipp>
#include <mdstream/async/detail/impl/waiting_call.ipp>
#include <mdstream/async/detail/impl/work_count.ipp>
#include <mdstream/codec/detail/impl/codec.ipp>
#include <mdstream/codec/detail/impl/codec_set.ipp>
#include <mdstream/codec/detail/impl/entry_point.ipp>
#include <mdstream/codec/detail/impl/none.ipp>
#include <mdstream/codec/detail/impl/stream_decoder.ipp>
#include <mdstream/core/detail/impl/base64.ipp>
#include <mdstream/core/detail/impl/chance.ipp>
#include <mdstream/core/detail/impl/descriptors.ipp>
#include <mdstream/core/detail/impl/directory_reader.ipp>
#include <mdstream/core/detail/impl/error.ipp>
#include <mdstream/core/detail/impl/handler_memory.ipp>
#include <mdstream/core/detail/impl/hex.ipp>
#include <mdstream/core/detail/impl/json/number.ipp>
#include <mdstream/core/detail/impl/json/reader.ipp>
#include <mdstream/core/detail/impl/json/value.ipp>
#include <mdstream/core/detail/impl/json/writer.ipp>
#include <mdstream/core/detail/impl/kernel_files.ipp>
#include <mdstream/core/detail/impl/pages.ipp>
#include <mdstream/core/detail/impl/process.ipp>
#include <mdstream/core/detail/impl/processors.ipp>
#include <mdstream/core/detail/impl/sizes.ipp>
#include <mdstream/core/detail/impl/text.ipp>
#include <mdstream/core/detail/impl/usable_memory.ipp>
#include <mdstream/core/detail/impl/utf8.ipp>
#include <mdstream/core/detail/impl/warning.ipp>
#include <mdstream/format/detail/impl/column_picks.ipp>
#include <mdstream/format/detail/impl/config_reader.ipp>
#include <mdstream/format/detail/impl/file_info.ipp>
#include <mdstream/format/detail/impl/images.ipp>
#include <mdstream/format/detail/impl/index.ipp>
#include <mdstream/format/detail/impl/index_columns.ipp>
#include <mdstream/format/detail/impl/index_parser.ipp>
#include <mdstream/format/detail/impl/mds_shard_builder.ipp>
#include <mdstream/format/detail/impl/pickle.ipp>
#include <mdstream/format/detail/impl/pickle_machine.ipp>
#include <mdstream/format/detail/impl/pickle_numpy.ipp>
#include <mdstream/format/detail/impl/row_shard.ipp>
#include <mdstream/format/detail/impl/row_to_mds.ipp>
#include <mdstream/format/detail/impl/row_values.ipp>
#include <mdstream/format/detail/impl/sample_encoder.ipp>
#include <mdstream/format/detail/impl/sample_form.ipp>
#include <mdstream/format/detail/impl/shard_config_json.ipp>
#include <mdstream/format/detail/impl/shard_template.ipp>
#include <mdstream/hash/detail/impl/hash.ipp>
#include <mdstream/hash/detail/impl/hash_set.ipp>
#include <mdstream/image/detail/impl/image.ipp>
#include <mdstream/launch/detail/impl/environment.ipp>
#include <mdstream/launch/detail/impl/loss_guard.ipp>
#include <mdstream/launch/detail/impl/step_pace.ipp>
#include <mdstream/launch/detail/impl/stop_request.ipp>
#include <mdstream/launch/detail/impl/thread_stacks.ipp>
#include <mdstream/launch/detail/impl/watchdog.ipp>
#include <mdstream/order/detail/impl/batching.ipp>
#include <mdstream/order/detail/impl/bijection.ipp>
#include <mdstream/order/detail/impl/naive.ipp>
#include <mdstream/order/detail/impl/py1br.ipp>
#include <mdstream/order/detail/impl/py1e.ipp>
#include <mdstream/order/detail/impl/py1s.ipp>
#include <mdstream/order/detail/impl/py2s.ipp>
#include <mdstream/order/detail/impl/shard_table.ipp>
#include <mdstream/order/detail/impl/shuffle_units.ipp>
#include <mdstream/order/detail/impl/weights.ipp>
#include <mdstream/source/detail/impl/block_reader.ipp>
#include <mdstream/source/detail/impl/build_index.ipp>
#include <mdstream/source/detail/impl/each_shard.ipp>
#include <mdstream/source/detail/impl/first_rows.ipp>
#include <mdstream/source/detail/impl/kept_scans.ipp>
#include <mdstream/source/detail/impl/list_source.ipp>
#include <mdstream/source/detail/impl/open_source.ipp>
#include <mdstream/source/detail/impl/plain_bytes.ipp>
#include <mdstream/source/detail/impl/raw_maker.ipp>
#include <mdstream/source/detail/impl/raw_rows.ipp>
#include <mdstream/source/detail/impl/scan.ipp>
#if defined(MDSTREAM_WITH_BR)
#include <mdstream/codec/detail/impl/br.ipp>
#endif
#if defined(MDSTREAM_WITH_BZ2)
#include <mdstream/codec/detail/impl/bz2.ipp>
#endif
#if defined(MDSTREAM_WITH_GZ)
#include <mdstream/codec/detail/impl/gz.ipp>
#include <mdstream/codec/detail/impl/gz_stream.ipp>
#endif
#if defined(MDSTREAM_WITH_JPEG)
#include <mdstream/image/detail/impl/jpeg.ipp>
#include <mdstream/image/detail/impl/jpeg_batch.ipp>
#endif
#if defined(MDSTREAM_WITH_OPENSSL)
#include <mdstream/hash/detail/impl/openssl.ipp>
#endif
#if defined(MDSTREAM_WITH_PNG)
#include <mdstream/image/detail/impl/png.ipp>
#endif
#if defined(MDSTREAM_WITH_SNAPPY)
#include <mdstream/codec/detail/impl/snappy.ipp>
#endif
#if defined(MDSTREAM_WITH_XXHASH)
#include <mdstream/hash/detail/impl/xxhash.ipp>
#endif
#if defined(MDSTREAM_WITH_ZSTD)
#include <mdstream/codec/detail/impl/zstd.ipp>
#include <mdstream/codec/detail/impl/zstd_stream.ipp>
#endif
#endif
