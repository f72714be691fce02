#pragma once

/// What a store is asked and what it answers: five verbs behind one interface.

#include <mdstream/store/store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

enum class store_verb : std::uint8_t { stat, read, write, list, remove };

/// One call of a store. What its verb has no use for stays as it is. May be made several times.
struct store_call {
  store_verb verb = store_verb::stat;
  std::string key{};                     ///< list: the prefix
  std::optional<object_version> held{};  ///< read: of this version alone
  std::uint64_t offset = 0;              ///< read: from here on
  mutable_bytes into{};                  ///< read: where the bytes go,
  byte_taker take{};                     ///< or what is handed them as they come,
  std::uint64_t count = 0;               ///< so many at most
  bytes_view bytes{};                    ///< write: the whole object
  bool create_only = false;              ///< write: unless there is one
  bool durable = false;                  ///< write: as `publish`, where the store has that

  [[nodiscard]] bool reads_into_memory() const noexcept {
    return verb == store_verb::read && !take;
  }
  /// Bytes that a read asks for or that a write sends.
  [[nodiscard]] std::uint64_t amount() const noexcept {
    return take ? count : into.size() + bytes.size();
  }
};

/// What came of a call, as far as its verb tells it.
struct store_answer {
  object_version object{};             ///< stat, and a read that is handed out
  std::size_t bytes = 0;               ///< read into memory: how many, also of one that broke off
  bool written = false;                ///< write: false where there was an object before
  std::vector<object_info> objects{};  ///< list
};

using answer_handler = store_handler<store_answer>;

/// What a store can do beyond what every store does.
struct store_abilities {
  bool streams = false;           ///< reads that are handed out
  bool creates = false;           ///< writes that are `create_only`
  bool occupies_threads = false;  ///< each call has a thread of the pool until it ends
};

/// An asynchronous store of any type. The caller keeps it until `start` has returned.
class store_interface {
 public:
  virtual ~store_interface() = default;
  /// As the operations of an `async_store`: completes later or at once, exactly once.
  virtual void start(store_call call, std::stop_token stop, diagnostics& where,
                     answer_handler done) const = 0;
  [[nodiscard]] virtual std::string url(std::string_view key) const = 0;
  [[nodiscard]] virtual store_abilities abilities() const = 0;
  /// As `any_async_store::credentials`.
  [[nodiscard]] virtual std::string credentials() const { return {}; }
};

/// Completes a call that the store cannot make, with errc::unsupported.
void refuse_call(const store_call& call, std::string url, diagnostics& where, answer_handler done);

// Handlers of an `async_store`'s operations that complete a call.
[[nodiscard]] store_handler<> answer_end(answer_handler done);
[[nodiscard]] store_handler<std::uint64_t> answer_size(answer_handler done);
[[nodiscard]] store_handler<object_version> answer_object(answer_handler done);
[[nodiscard]] store_handler<std::size_t> answer_bytes(answer_handler done);
[[nodiscard]] store_handler<bool> answer_written(answer_handler done);
[[nodiscard]] store_handler<std::vector<object_info>> answer_objects(answer_handler done);
/// The same of a store without versions; see `drop_tags`.
[[nodiscard]] store_handler<std::vector<object_info>> answer_untagged_objects(answer_handler done);

/// Tags that a store without versions lists, as one that forwards another's listing, are those of
/// no read: to compare with them would find every object changed.
void drop_tags(std::vector<object_info>& objects) noexcept;

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/call.ipp>
#endif
