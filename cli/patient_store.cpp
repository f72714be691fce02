#include "patient_store.hpp"

#include <mdstream/store/detail/adapter.hpp>
#include <mdstream/store/detail/cloud/checksums.hpp>
#include <mdstream/store/operations.hpp>

#include <memory>
#include <utility>

namespace cli {

namespace {

template <class Store, class Options>
mds::full_store open_with(mds::runtime& threads, const std::string& url, Options options) {
  return Store(threads, url, std::move(options));
}

// As `full_store::open`; stores that send bytes from where they lie tell which they have read.
mds::full_store store_at(mds::runtime& threads, const std::string& url,
                         const std::shared_ptr<mapped_uploads>& uploads) {
  namespace store = mds::store;
  const auto was_read = [uploads](mds::bytes_view some) { uploads->was_read(some); };
  const auto told = [&](auto options) {
    options.http.body_read = was_read;
    return options;
  };
  if (store::s3::serves(url)) return open_with<store::s3>(threads, url, told(store::s3_options{}));
  if (store::azure::serves(url)) {
    return open_with<store::azure>(threads, url, told(store::azure_options{}));
  }
  if (store::gs::serves(url)) return open_with<store::gs>(threads, url, told(store::gs_options{}));
  if (store::oci::serves(url)) {
    return open_with<store::oci>(threads, url, told(store::oci_options{}));
  }
  if (store::hf::serves(url)) return open_with<store::hf>(threads, url, told(store::hf_options{}));
  if (store::dbfs::serves(url)) {
    return open_with<store::dbfs>(threads, url, told(store::dbfs_options{}));
  }
  if (store::sftp::serves(url)) return store::sftp(url, {.body_read = was_read});
  return mds::full_store::open(url, threads);
}

// A store of which a call is begun anew as well where it repeated what it is made of in vain, as an
// upload in parts does. Of one that is begun anew nothing stays: a write puts whole objects.
class renewable_calls final : public mds::detail::store_adapter {
 public:
  using store_adapter::store_adapter;

  void start(mds::detail::store_call call, std::stop_token stop, mds::diagnostics& where,
             mds::detail::answer_handler done) const override {
    inner().async_call(std::move(call), std::move(stop), where,
                       [&where, done = std::move(done)](std::error_code code,
                                                        mds::detail::store_answer answer) mutable {
                         if (mds::is_transient(code)) where.is_final = false;
                         done(code, std::move(answer));
                       });
  }
};

mds::any_async_store renewable(mds::any_async_store store) {
  return mds::any_async_store(std::make_shared<const renewable_calls>(std::move(store)));
}

}  // namespace

patient_store::patient_store(mds::runtime& threads, const std::string& url,
                             const store_patience& patience, std::stop_token stop,
                             const patient_store* beside)
    : store_(store_at(threads, url, uploads_)),
      stop_(std::move(stop)),
      bounded_(bounded(threads, beside)),
      async_(is_local(url) ? store_.on(threads) : bounded_),
      budget_(beside == nullptr ? patience.budget() : beside->budget_) {
  if (!is_local(url)) remote_.emplace(threads, renewable(async_), patience.requests(), budget_);
}

mds::adaptive patient_store::bounded(mds::runtime& threads, const patient_store* beside) const {
  mds::any_async_store store = store_.on(threads);
  return beside == nullptr ? mds::adaptive(std::move(store))
                           : mds::adaptive(std::move(store), beside->bounded_);
}

std::vector<mds::object_info> patient_store::list(const std::string& prefix) const {
  return mds::detail::wait_for<std::vector<mds::object_info>>([&](auto& where, auto done) {
    remote_ ? remote_->async_list(prefix, stop_, where, std::move(done))
            : async_.async_list(prefix, stop_, where, std::move(done));
  });
}
mds::object_version patient_store::version(const std::string& key) const {
  return mds::detail::wait_for<mds::object_version>([&](auto& where, auto done) {
    remote_ ? remote_->async_version(key, stop_, where, std::move(done))
            : async_.async_version(key, stop_, where, std::move(done));
  });
}
mds::object_info patient_store::look(const std::string& key) const {
  if (!remote_) return {key, store_.size(key)};
  const mds::object_version found = version(key);
  return {key, found.bytes, found.digest};
}
std::optional<mds::object_info> patient_store::find(const std::string& key) const {
  try {
    return look(key);
  } catch (const mds::error& e) {
    if (!tells_of_none(e.code())) throw;
    return std::nullopt;
  }
}
std::size_t patient_store::read(const std::string& key, std::uint64_t offset,
                                mds::mutable_bytes into) const {
  if (!remote_) return store_.read(key, offset, into);
  return mds::detail::wait_for<std::size_t>([&](auto& where, auto done) {
    remote_->async_read(key, offset, into, stop_, where, std::move(done));
  });
}
void patient_store::write(const std::string& key, mds::bytes_view bytes) const {
  if (!remote_) return store_.write(key, bytes);
  mds::detail::wait_for<>([&](auto& where, auto done) {
    remote_->async_write(key, bytes, stop_, where, std::move(done));
  });
}
void patient_store::write_mapped(const std::string& key, mds::bytes_view bytes,
                                 std::function<void()> check) const {
  const mapped_uploads::upload under_way(*uploads_, bytes, std::move(check));
  write(key, bytes);
}

}  // namespace cli
