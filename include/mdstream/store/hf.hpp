#pragma once

/// Datasets and models of the Hugging Face Hub. Needs libcurl and OpenSSL: link mdstream::hf.

#if !__has_include(<curl/curl.h>) || !__has_include(<openssl/evp.h>)
#error \
    "mdstream/store/hf.hpp needs <curl/curl.h> and <openssl/evp.h>: install the headers of libcurl and OpenSSL and link mdstream::hf"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/text.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>
#include <mdstream/store/store.hpp>

#include <string>
#include <string_view>

namespace mdstream::inline v0::detail {
struct hf_settings;
}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::store {

/// Options of `store::hf`. The Hub chooses the parts of large uploads: `part_bytes` is not used.
///
///     mds::store::hf_options options;
///     options.revision = "refs/convert/parquet";
struct hf_options : detail::cloud_options {
  std::string revision{};  ///< branch, tag or commit; default: the URL's, otherwise `main`
};

/// Reads and writes files under `hf://datasets/<org>/<name>/<path>`, of a dataset, or
/// `hf://<org>/<name>/<path>`, of a model. `<name>@<revision>`, or `?revision=`, is a branch, tag
/// or commit other than `main`. `refs/convert/parquet`, or `~parquet` for short, has the Parquet
/// files that the Hub makes of datasets. The token is that of HF_TOKEN, HUGGING_FACE_HUB_TOKEN or a
/// login (`huggingface-cli login`). It is only sent to the Hub, not to servers that the Hub
/// redirects to or that large objects are uploaded to. Thread-safe; copies share connections,
/// credentials and commits. The runtime has to outlive the calls.
///
/// A write or a `remove` is a commit. A store and its copies make one commit at a time; writes
/// meanwhile go together into the next one. If the commit of another process comes first, it is
/// retried as `part_retry` says. A stop ends the wait for a commit, which may still succeed. Files
/// for Git LFS are read twice, first for their SHA-256.
///
/// Requests: one for `size`, or two if the file is not in Git LFS; two for `read`, of which the
/// second goes to another server, or that one alone while a signed URL of the file is known; one
/// for each 1,000 files of a listing; a share of a commit for `remove`. A write is one and a share
/// of a commit; for Git LFS three more, and for large files one for each part.
///
/// Errors: refused credentials are `errc::permission_denied`, and the error names their source.
///
///     mds::store::hf files(threads, "hf://datasets/org/name/data");
class hf : public any_async_store {
 public:
  static constexpr std::string_view schemes = "hf://";

  hf(runtime& threads, std::string_view url, const hf_options& options = {});

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
