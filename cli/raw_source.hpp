#pragma once

/// Foreign files as a command line names them.

#include <mdstream/codec/detail/stream_decoder.hpp>
#include <mdstream/full.hpp>
#include <mdstream/raw/detail/row_index.hpp>
#include <mdstream/raw/options.hpp>
#include <mdstream/store/retrying.hpp>

#include "command.hpp"
#include "dataset_arguments.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace cli {

/// Options that say how files are read.
struct raw_arguments {
  mds::raw::options about{};
  std::vector<std::string> columns{};
  std::uint64_t shard_bytes = 0;

  /// `group`: its heading in the help.
  void add_to(CLI::App& command, const std::string& group);
  /// Whether any was given.
  [[nodiscard]] bool given() const;
  [[nodiscard]] mds::raw::options options() const;

 private:
  std::vector<CLI::Option*> all_;
};

/// The files at a URL: of a directory, or one file.
class raw_source {
 public:
  /// Lists them, and guesses the format where none is named. Throws errc::not_found where no file
  /// is chosen.
  raw_source(const std::string& url, mds::raw::options about, const std::stop_token& stop = {});

  [[nodiscard]] const mds::raw::options& about() const { return about_; }
  [[nodiscard]] const std::vector<mds::raw::detail::listed_object>& listing() const {
    return listing_;
  }
  [[nodiscard]] const mds::any_async_store& store() const { return patient_; }
  [[nodiscard]] bool is_one_file() const { return is_one_file_; }
  /// Where the index is looked for and goes to, unless it was told otherwise.
  [[nodiscard]] std::string index_url() const;
  /// A store in which what may pass is asked for again.
  [[nodiscard]] mds::any_async_store open_patient(const std::string& url) const;
  /// The row index in a directory, where there is one.
  [[nodiscard]] std::optional<mds::raw::detail::row_index> index_at(const std::string& url) const;

 private:
  std::unique_ptr<mds::runtime> threads_;
  std::string url_;
  mds::raw::options about_;
  bool is_one_file_ = false;
  mds::any_async_store patient_;
  std::vector<mds::raw::detail::listed_object> listing_;
};

/// All that this program decompresses on the way.
[[nodiscard]] const mds::detail::stream_decoders& decoders();

/// The index of the files at a URL, where there is one.
[[nodiscard]] std::optional<mds::raw::detail::row_index> find_index(const raw_source& source);

/// The index that lies with the files, unless options were given; else one that is made for this
/// run, in memory.
[[nodiscard]] mds::raw::detail::row_index index_of(const raw_source& source,
                                                   const raw_arguments& given, unsigned jobs,
                                                   const std::stop_token& stop = {});

/// Foreign files where the options say so, or where there is no dataset but files; else nothing.
[[nodiscard]] std::optional<raw_source> files_at(const dataset_arguments& place,
                                                 const raw_arguments& given);

/// A line of JSON for each column.
[[nodiscard]] json columns_json(const std::vector<mds::raw::column>& columns);

}  // namespace cli
