#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/store/detail/dbfs/files.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/version.hpp>

#include <limits>
#include <utility>

namespace mdstream::inline v0::detail {

/// When a file was changed; empty where the service does not tell it.
MDSTREAM_INLINE std::string tag_of_file(const json::value& file) {
  const json::value* const changed = file.find("modification_time");
  return changed == nullptr ? std::string() : changed->digits();
}

MDSTREAM_INLINE object_version dbfs_api::version(const net::http_response& answer) const {
  const json::value said = json::parse(answer.text);
  if (said.get<bool>("is_dir")) throw error(errc::not_found, "there is a directory of that name");
  return {said.get<std::uint64_t>("file_size"), tag_of_file(said)};
}

MDSTREAM_INLINE cloud_call dbfs_api::block(const std::string& key, std::uint64_t offset,
                                           std::uint64_t count) const {
  cloud_call out = get(key, nullptr);
  out.url += "&offset=" + std::to_string(offset) + "&length=" + std::to_string(count);
  out.most_text = 2 * block_bytes;
  return out;
}

MDSTREAM_INLINE std::vector<std::byte> dbfs_api::read_block(const net::http_response& answer,
                                                            std::uint64_t most) {
  const json::value said = json::parse(answer.text);
  const auto count = said.get<std::uint64_t>("bytes_read");
  auto bytes = from_base64(count == 0 ? std::string() : said.get<std::string>("data"));
  if (!bytes || bytes->size() != count || count > most) {
    throw error(errc::corrupt, "the answer does not have the bytes that it says it has");
  }
  return *std::move(bytes);
}

MDSTREAM_INLINE void dbfs_api::remove(const cloud_client& client, std::string key,
                                      std::stop_token stop, diagnostics& where,
                                      store_handler<> done) const {
  send_removal(client, removal(key), std::move(stop), where, std::move(done));
}

MDSTREAM_INLINE cloud_call dbfs_api::removal(const std::string& key) const {
  return order("delete", key, {{"path", settings().path(key)}, {"recursive", false}});
}

MDSTREAM_INLINE cloud_page dbfs_api::page(const cloud_call& asked,
                                          const net::http_response& answer) const {
  const json::value said = json::parse(answer.text);
  cloud_page out;
  const json::value* const files = said.find("files");
  if (files == nullptr) return out;
  for (const json::value& each : files->as<json::array>("files")) {
    const std::string path = each.get<std::string>("path");
    if (!path.starts_with('/')) throw error(errc::corrupt, "the listing has a relative path");
    const std::string key = path.substr(1);
    if (each.get<bool>("is_dir")) {
      if (leads_on(asked, key)) out.more.push_back(list_directory(key, asked.key));
    } else if (key.find(temporary_mark) == std::string::npos) {
      out.objects.push_back(
          {.key = key, .bytes = each.get<std::uint64_t>("file_size"), .tag = tag_of_file(each)});
    }
  }
  return out;
}

MDSTREAM_INLINE void dbfs_api::write(const cloud_client& client, std::string key, bytes_view bytes,
                                     std::stop_token stop, diagnostics& where,
                                     store_handler<> done) const {
  std::make_shared<file_write>(*this, client, std::move(key), bytes, std::move(stop), where,
                               std::move(done))
      ->begin();
}

MDSTREAM_INLINE dbfs_api::file_write::file_write(const dbfs_api& api, cloud_client client,
                                                 std::string key, bytes_view bytes,
                                                 std::stop_token stop, diagnostics& where,
                                                 store_handler<> done)
    : api_(api),
      client_(std::move(client)),
      key_(std::move(key)),
      temporary_(key_.substr(0, key_.rfind('/') + 1) + std::string(temporary_mark) +
                 mdstream::detail::unique_name() + ".tmp"),
      bytes_(bytes),
      stop_(std::move(stop)),
      where_(where),
      done_(std::move(done)) {}

MDSTREAM_INLINE void dbfs_api::file_write::begin() {
  if (bytes_.size() <= block_bytes) {
    return send(api_.order("put", key_,
                           {{"path", api_.settings().path(temporary_)},
                            {"contents", to_base64(bytes_)},
                            {"overwrite", true}}),
                [](file_write& self) { self.move(); });
  }
  const upload_plan plan{.part_bytes = block_bytes,
                         .most_parts = std::numeric_limits<std::uint32_t>::max(),
                         .parallel = 1,
                         .retry = api_.part_retry()};
  std::make_shared<part_upload>(client_, plan, block_steps(), bytes_, stop_, where_,
                                [self = shared_from_this()](std::error_code code) {
                                  if (code) return self->done_(code);  // it was aborted
                                  self->check();
                                })
      ->begin();
}

MDSTREAM_INLINE void dbfs_api::file_write::send(cloud_call call, step then) {
  client_.async_send(std::move(call), stop_, where_,
                     [self = shared_from_this(), then = std::move(then)](
                         std::error_code code, const net::http_response&) {
                       if (code) return self->give_up(code);
                       then(*self);
                     });
}

MDSTREAM_INLINE void dbfs_api::file_write::check() {
  client_.async_send(
      api_.look(temporary_), stop_, where_,
      [self = shared_from_this()](std::error_code code, const net::http_response& answer) {
        try {
          if (!code && self->api_.version(answer).bytes != self->bytes_.size()) {
            throw error(errc::unavailable, "the service has other bytes than were sent");
          }
        } catch (const error& e) {
          self->where_ = {.what = e.where().what, .url = self->api_.url(self->key_)};
          code = e.code();
        }
        if (code) return self->give_up(code);
        self->move();
      });
}

MDSTREAM_INLINE void dbfs_api::file_write::move() {
  std::make_shared<repeated_call>(
      client_, api_.part_retry(),
      [self = shared_from_this()] {
        return self->api_.order("move", self->key_,
                                {{"source_path", self->api_.settings().path(self->temporary_)},
                                 {"destination_path", self->api_.settings().path(self->key_)}});
      },
      stop_,
      [self = shared_from_this()](std::error_code code, const net::http_response& answer,
                                  const diagnostics& about) {
        if (!code) return self->done_({});
        self->where_ = about;
        self->take_refused_move(code, answer);
      })
      ->send();
}

MDSTREAM_INLINE void dbfs_api::file_write::take_refused_move(std::error_code code,
                                                             const net::http_response& answer) {
  const bool taken = api_.refusal(answer).code == "RESOURCE_ALREADY_EXISTS";
  if (!taken && code != errc::not_found) return fail(code);
  look_at(temporary_, [code, taken](file_write& self, std::error_code absent, std::uint64_t) {
    if (absent == errc::not_found) return self.find_moved();
    if (absent || !taken) return self.fail(absent ? absent : code);
    if (++self.replaced_ > most_replaced) return self.give_up(code);
    self.remove_old();
  });
}

MDSTREAM_INLINE void dbfs_api::file_write::find_moved() {
  look_at(key_, [](file_write& self, std::error_code code, std::uint64_t bytes) {
    if (!code && bytes == self.bytes_.size()) {
      self.where_ = {};
      return self.done_({});
    }
    if (!code || code == errc::not_found) {
      self.where_ = {.what = "what was written is under neither of its names",
                     .url = self.api_.url(self.key_)};
      code = errc::unavailable;
    }
    self.fail(code);
  });
}

MDSTREAM_INLINE void dbfs_api::file_write::look_at(const std::string& key, look_step then) {
  std::make_shared<repeated_call>(
      client_, api_.part_retry(),
      [self = shared_from_this(), &key] { return self->api_.look(key); }, stop_,
      [self = shared_from_this(), then = std::move(then)](
          std::error_code code, const net::http_response& answer, const diagnostics& about) {
        std::uint64_t bytes = 0;
        if (code) self->where_ = about;
        try {
          if (!code) bytes = self->api_.version(answer).bytes;
        } catch (const error& e) {
          self->where_ = {.what = e.where().what, .url = self->api_.url(self->key_)};
          code = e.code();
        }
        then(*self, code, bytes);
      })
      ->send();
}

MDSTREAM_INLINE void dbfs_api::file_write::remove_old() {
  std::make_shared<repeated_call>(
      client_, api_.part_retry(),
      [self = shared_from_this()] { return self->api_.removal(self->key_); }, stop_,
      [self = shared_from_this()](std::error_code code, const net::http_response& answer,
                                  const diagnostics& about) {
        const bool gone = !code || code == errc::not_found;
        const bool refused = answer.status >= 400 && answer.status < 500;
        self->may_be_gone_ = self->may_be_gone_ || gone || !refused;
        self->where_ = gone ? diagnostics() : about;
        gone ? self->move() : self->fail(code);
      })
      ->send();
}

MDSTREAM_INLINE void dbfs_api::file_write::fail(std::error_code code) {
  if (!may_be_gone_) return give_up(code);
  where_.what +=
      "; the old file may be gone: the new one has its name, or is " + api_.url(temporary_);
  done_(code);
}

MDSTREAM_INLINE void dbfs_api::file_write::give_up(std::error_code code) {
  const auto about = std::make_shared<diagnostics>();
  client_.async_send(api_.removal(temporary_), {}, *about,
                     [self = shared_from_this(), about, code](
                         std::error_code, const net::http_response&) { self->done_(code); });
}

MDSTREAM_INLINE upload_steps dbfs_api::file_write::block_steps() const {
  auto handle = std::make_shared<json::value>();
  upload_steps steps;
  steps.begin = [self = shared_from_this()] {
    return self->api_.order(
        "create", self->key_,
        {{"path", self->api_.settings().path(self->temporary_)}, {"overwrite", true}});
  };
  steps.begun = [handle](const net::http_response& answer) {
    const json::value said = json::parse(answer.text);
    const json::value* const found = said.find("handle");
    if (found == nullptr) throw error(errc::corrupt, "the answer has no handle of the file");
    *handle = *found;
  };
  steps.part = [self = shared_from_this(), handle](std::size_t, std::uint64_t, bytes_view part) {
    std::string text = to_base64(part);
    self->client_.body_was_read(part);
    return self->api_.order("add-block", self->key_,
                            {{"handle", *handle}, {"data", std::move(text)}});
  };
  steps.took = [](std::size_t, std::uint64_t, bytes_view, const net::http_response&) {};
  steps.finish = [self = shared_from_this(), handle] {
    return self->api_.order("close", self->key_, {{"handle", *handle}});
  };
  steps.abort = [self = shared_from_this()] { return self->api_.removal(self->temporary_); };
  return steps;
}

MDSTREAM_INLINE cloud_call dbfs_api::question(const char* what, const std::string& key) const {
  const std::string path = settings().path(key);
  return {.url = settings().host + "/api/2.0/dbfs/" + what +
                 "?path=" + net::percent_encode(path.empty() ? "/" : path),
          .key = key};
}

MDSTREAM_INLINE cloud_call dbfs_api::order(const char* what, const std::string& key,
                                           json::object about) const {
  return {.method = "POST",
          .url = settings().host + "/api/2.0/dbfs/" + what,
          .key = key,
          .headers = {{"Content-Type", "application/json"}},
          .text = std::make_shared<const std::string>(json::dump(json::value(std::move(about))))};
}

}  // namespace mdstream::inline v0::detail
