#pragma once

// What is fuzzed. Each target takes any bytes; refusing them with mdstream::error is right,
// anything else (a crash, a read out of bounds, another exception, endless work) is a finding.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fuzz {

void index(std::string_view input);      ///< the text of an index.json
void mds_shard(std::string_view input);  ///< a whole raw MDS shard
void row_shard(std::string_view input);  ///< u32 size of the meta file, meta file, data file
void encoding(std::string_view input);   ///< a line with the name of an encoding, then a value
void json(std::string_view input);       ///< JSON text
void pickle(std::string_view input);     ///< a pickle
void codec(std::string_view input);      ///< a line with the name of a codec, then compressed bytes
void entries(std::string_view input);  ///< ".gz" or ".zst" in a line, u32 size of an entry point's
                                       ///< state, the state, compressed bytes
void collate(std::string_view input);  ///< u32 size of an index, its text, a raw MDS shard
void join(
    std::string_view input);  ///< two indexes, then the files of shards, each behind its u32 size
void state(std::string_view input);  ///< the text of a loader's state
void typed_json(
    std::string_view input);       ///< a line of `mdstream write`, for a column of every encoding
void uri(std::string_view input);  ///< a URL
void xml(std::string_view input);  ///< an XML document
void answer(std::string_view input);       ///< an answer to a ranged GET, status first
void safetensors(std::string_view input);  ///< a safetensors file
void row_index(std::string_view input);    ///< the text of a row index
void raw_jsonl(std::string_view input);    ///< JSON lines
void raw_text(std::string_view input);     ///< lines and paragraphs
void raw_csv(std::string_view input);      ///< CSV with a header
void raw_tar(std::string_view input);      ///< a WebDataset archive
void raw_tokens(
    std::string_view input);  ///< u32 size of a Megatron index (or 0), index, token file
void raw_parquet(std::string_view input);   ///< a Parquet file; where Arrow is
void run_text(std::string_view input);      ///< "layout", "record", "manifest" or "start", then its
                                            ///< members; "guard", then the state of a loss guard
void scan_records(std::string_view input);  ///< what a killed scan left, behind its first line
void npy(std::string_view input);           ///< a file of NumPy's
void journal(std::string_view input);       ///< the journal of a cache directory
void member(std::string_view input);        ///< the file of a live process of a cache directory
void origin(std::string_view input);        ///< whose shards a directory has
void cache_file(std::string_view input);    ///< "plan", "facts", "seal" or "streams", then a file
void ini(std::string_view input);           ///< settings of AWS's and OCI's tools
void pem(std::string_view input);           ///< a key or a certificate
void cloud_answer(std::string_view input);  ///< a line with the kind of answer, then its text
void setting(std::string_view input);       ///< URLs, endpoints, times, sizes
void jpeg(std::string_view input);          ///< a JPEG file
void png(std::string_view input);           ///< a PNG file

struct target {
  const char* name;
  void (*run)(std::string_view);
};

inline constexpr target targets[] = {{"index", &index},
                                     {"mds_shard", &mds_shard},
                                     {"row_shard", &row_shard},
                                     {"encoding", &encoding},
                                     {"json", &json},
                                     {"pickle", &pickle},
                                     {"codec", &codec},
                                     {"entries", &entries},
                                     {"collate", &collate},
                                     {"join", &join},
                                     {"state", &state},
                                     {"typed_json", &typed_json},
                                     {"uri", &uri},
                                     {"xml", &xml},
                                     {"answer", &answer},
                                     {"safetensors", &safetensors},
                                     {"row_index", &row_index},
                                     {"raw_jsonl", &raw_jsonl},
                                     {"raw_text", &raw_text},
                                     {"raw_csv", &raw_csv},
                                     {"raw_tar", &raw_tar},
                                     {"raw_tokens", &raw_tokens},
#ifdef MDSTREAM_FUZZ_PARQUET
                                     {"raw_parquet", &raw_parquet},
#endif
                                     {"run_text", &run_text},
                                     {"scan_records", &scan_records},
                                     {"npy", &npy},
                                     {"journal", &journal},
                                     {"member", &member},
                                     {"origin", &origin},
                                     {"cache_file", &cache_file},
                                     {"ini", &ini},
                                     {"pem", &pem},
                                     {"cloud_answer", &cloud_answer},
                                     {"setting", &setting},
                                     {"jpeg", &jpeg},
                                     {"png", &png}};

/// The inputs of the committed corpus and of the golden files that such a target takes.
std::vector<std::string> inputs_of(const std::string& target);
/// The folders of the committed corpus.
std::vector<std::string> corpus_names();

}  // namespace fuzz
