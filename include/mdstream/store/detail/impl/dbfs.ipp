#pragma once

#include <mdstream/store/dbfs.hpp>
#include <mdstream/store/detail/cloud/store.hpp>
#include <mdstream/store/detail/dbfs/files.hpp>
#include <mdstream/store/detail/dbfs/keys.hpp>
#include <mdstream/store/detail/dbfs/read.hpp>
#include <mdstream/store/detail/dbfs/volumes.hpp>
#include <mdstream/version.hpp>

#include <memory>
#include <stop_token>
#include <utility>

namespace mdstream::inline v0::detail::dbfs {

/// The file system of a workspace: a cloud whose reads are several calls.
class file_system final : public cloud_store {
 public:
  file_system(std::shared_ptr<const dbfs_api> api, cloud_client client)
      : cloud_store(std::move(client)), api_(std::move(api)) {}

  MDSTREAM_INLINE void start(store_call call, std::stop_token stop, diagnostics& where,
                             answer_handler done) const override;
  [[nodiscard]] store_abilities abilities() const override { return {}; }

 private:
  std::shared_ptr<const dbfs_api> api_;
};

MDSTREAM_INLINE void file_system::start(store_call call, std::stop_token stop, diagnostics& where,
                                        answer_handler done) const {
  if (call.take || call.create_only)
    return refuse_call(call, url(call.key), where, std::move(done));
  if (call.verb != store_verb::read || call.into.empty())
    return cloud_store::start(std::move(call), std::move(stop), where, std::move(done));
  if (refused(call.key, where)) return done(errc::invalid_argument, {});
  std::make_shared<dbfs_read>(client(), *api_, whole(call.key), call.offset, call.into,
                              std::move(call.held), std::move(stop), where,
                              answer_bytes(std::move(done)))
      ->begin();
}

}  // namespace mdstream::inline v0::detail::dbfs

namespace mdstream::inline v0::store {

MDSTREAM_INLINE dbfs::dbfs(runtime& threads, std::string_view url, const dbfs_options& options)
    : any_async_store(make(threads, resolve_dbfs(url, options), options)) {}

MDSTREAM_INLINE dbfs dbfs::open(std::string_view url, runtime& threads, warning_function warn) {
  dbfs_options options;
  options.warn = std::move(warn);
  return {threads, url, options};
}

MDSTREAM_INLINE any_async_store dbfs::make(runtime& threads, const dbfs_settings& settings,
                                           const dbfs_options& options) {
  const net::any_access keys = net::detail::bounded_access(
      options.credentials ? *options.credentials
                          : detail::default_dbfs_access(threads, settings, options),
      detail::dbfs::bounds(settings));
  if (settings.volume.empty()) {
    const auto api = std::make_shared<detail::dbfs_api>(settings, options.part_retry);
    return any_async_store(std::make_shared<const detail::dbfs::file_system>(
        api, detail::cloud_client(threads, api, options.http, keys)));
  }
  return detail::make_cloud_store(
      threads,
      std::make_shared<detail::volumes_api>(
          settings, detail::upload_plan{.part_bytes = options.part_bytes.value,
                                        .parallel = options.parallel_parts,
                                        .retry = options.part_retry}),
      options.http, keys);
}

}  // namespace mdstream::inline v0::store
