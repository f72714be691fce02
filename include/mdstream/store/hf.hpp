#pragma once

/// Datasets and models of the Hugging Face Hub. Needs libcurl and OpenSSL: link mdstream::hf.

#if !__has_include(<curl/curl.h>) || !__has_include(<openssl/evp.h>)
#error \
    "mdstream/store/hf.hpp needs <curl/curl.h> and <openssl/evp.h>: install the headers of libcurl and OpenSSL and link mdstream::hf"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>
#include <mdstream/store/detail/hf/api.hpp>
#include <mdstream/store/opened_store.hpp>

#include <string>
#include <string_view>

namespace mdstream::inline v0::store {

/// The Hub says itself in which parts large objects are uploaded: `part_bytes` is not used.
struct hf_options : detail::cloud_options {
  std::string revision{};  ///< branch, tag or commit; unset: the URL's, else `main`
};

/// Files beneath `hf://datasets/<org>/<name>/<path>`, of a dataset, or `hf://<org>/<name>/<path>`,
/// of a model; `<name>@<revision>`, or `?revision=`, is a
/// branch, tag or commit other than `main`; `refs/convert/parquet`, or `~parquet` for short, has
/// datasets as Parquet files that the Hub has made. The token is that of HF_TOKEN or of a login
/// (`huggingface-cli login`), and goes to the Hub alone, not to where it redirects or has large
/// objects uploaded. Thread-safe; copies share connections, keys and commits. The runtime has to
/// outlive the calls.
///
/// A write is a commit. One is under way at a time for a store and its copies; what is written
/// meanwhile goes together into the next one. Where another's commit comes in between, it is
/// repeated as `part_retry` says. A `remove` is a change of a commit as a write is. A stop ends the
/// waiting for a commit that is under way, which may still succeed. Objects that the Hub keeps as
/// large files are read twice, first for their SHA-256.
///
/// Requests: one for `size`, or two where the file is not in Git LFS; two for `read`, of which the
/// second goes to the Hub's servers of content; one for each 1,000 files of a listing; a share of
/// a commit for `remove`. A write is one and its share of a commit; of a large file three more, or
/// three and one for each part.
class hf : public any_async_store {
 public:
  static constexpr std::string_view schemes = "hf://";

  hf(runtime& threads, std::string_view url, const hf_options& options = {})
      : hf(threads, resolved(url, options), options) {}

  [[nodiscard]] static bool serves(std::string_view url) {
    return net::detail::to_lower(url_scheme(url)) == "hf";
  }
  [[nodiscard]] static hf open(std::string_view url, runtime& threads,
                               warning_function warn = &warn_on_stderr);

  /// Throws `errc::invalid_argument` for what cannot be right.
  [[nodiscard]] static detail::hf_settings resolved(std::string_view url,
                                                    const hf_options& options);

 private:
  hf(runtime& threads, const detail::hf_settings& settings, const hf_options& options);

  [[nodiscard]] static net::any_access default_keys(const hf_options& options);
};

static_assert(versioned_store<hf> && openable_store<hf>);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/hf.ipp>
#endif
