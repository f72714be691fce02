#pragma once

#include <mdstream/checkpoint/checkpoint.hpp>
#include <mdstream/checkpoint/detail/choice.hpp>
#include <mdstream/checkpoint/detail/cut_tensors.hpp>
#include <mdstream/checkpoint/detail/plain_files.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>
#include <algorithm>
#include <exception>
#include <tuple>

namespace mdstream::inline v0 {

namespace detail {

MDSTREAM_INLINE run_store reach(opened_store run, const checkpoint_options& options) {
  return {places_of(std::move(run), options.mirrors), patient_requests(options.patience),
          options.warn};
}

}  // namespace detail

MDSTREAM_INLINE std::vector<checkpoint_info> checkpoint::list(opened_store run,
                                                              checkpoint_options options) {
  detail::run_store store = detail::reach(std::move(run), options);
  return list(store, options);
}

MDSTREAM_INLINE checkpoint checkpoint::open(opened_store run, std::string_view name,
                                            checkpoint_options options) {
  std::shared_ptr<detail::run_store> store(
      new detail::run_store(detail::reach(std::move(run), options)));  // it cannot be moved
  detail::protocol_channel channel;
  std::optional<detail::chosen_checkpoint> found;
  if (name.empty()) {
    const auto listing = store->list("starts/");
    store->run(channel, detail::choose_checkpoint(channel, detail::listed_starts::of(listing),
                                                  std::nullopt, options.warn, {}, found));
    if (!found)
      throw error(errc::not_found, {.what = "the run has no checkpoint", .url = store->url("")});
  } else {
    std::string why;
    const detail::save_id id = find(*store, name, options);
    store->run(channel, detail::try_checkpoint(
                            channel, id, {}, [&](const std::string& text) { why = text; }, found));
    if (!found)
      throw error(errc::corrupt, {.what = "cannot read the checkpoint \"" + id.text() + '"',
                                  .url = store->url(""),
                                  .cause = why});
  }
  return checkpoint(std::move(store), std::move(found->manifest), std::move(found->layout));
}

MDSTREAM_INLINE checkpoint checkpoint::open_files(opened_store files, std::string_view name,
                                                  checkpoint_options options) {
  if (!options.mirrors.empty())
    throw error(
        errc::invalid_argument,
        {.what = "plain files have no mirrors: without checksums nothing tells which of two "
                 "is right",
         .url = files.url("")});
  auto store = std::make_shared<detail::run_store>(
      std::move(files), patient_requests(options.patience), options.warn);
  detail::plain_files found = open_plain_files(*store, name);
  detail::checkpoint_manifest about;
  about.data_bytes = found.layout.bytes();
  about.metadata = std::move(found.metadata);
  return checkpoint(std::move(store), std::move(about), std::move(found.layout));
}

MDSTREAM_INLINE std::vector<tensor_info> checkpoint::tensors() const {
  std::vector<tensor_info> out;
  for (const detail::stored_tensor& each : data_->layout.tensors)
    out.push_back({each.name, each.type, each.shape});
  return out;
}

MDSTREAM_INLINE std::string checkpoint::own(std::uint64_t rank) const {
  const detail::save_id& id = data_->manifest.id;
  if (rank >= ranks())
    throw error(errc::out_of_range,
                "the checkpoint was saved by " + std::to_string(ranks()) + " ranks");
  const std::string key = id.record(rank), url = data_->store->url(key);
  const auto text = data_->store->find(key);
  if (!text) throw error(errc::not_found, {.what = "the record of a rank is missing", .url = url});
  return detail::read_record(*text, id, rank, {.url = url}).own;
}

MDSTREAM_INLINE void checkpoint::load(const tensor_list& into, const read_options& options) const {
  if (const auto& device = options.device ? options.device : data_->device)
    load_to_device(into, device, options);
  else
    load_to_host(into, options);
}

MDSTREAM_INLINE void checkpoint::load_to_device(const tensor_list& into,
                                                const stage::device_copies& device,
                                                const read_options& options) const {
  // In the order of the files, so that what one block gets ends where that of the next begins.
  std::vector<std::pair<detail::stored_tensor::piece, const detail::listed_tensor*>> order;
  for (const detail::listed_tensor& each : into.listed()) {
    const auto* stored = data_->layout.find(options.rename ? options.rename(each.name) : each.name);
    const bool lies = stored != nullptr && !stored->pieces.empty();
    order.emplace_back(lies ? stored->pieces[0] : detail::stored_tensor::piece(), &each);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first.file, a.first.at, a.second) <
           std::tie(b.first.file, b.first.at, b.second);
  });
  tensor_list held;
  for (const auto& [place, each] : order)
    held.add(each->name, each->type, each->shape, each->held, each->data);

  const std::uint64_t most = std::max<std::uint64_t>(options.memory.value / 2, 1);
  const tensor_list cut = detail::cut_tensors(held, most);
  const auto& parts = cut.listed();
  const auto bytes_of = [&](std::size_t i) {
    return *detail::tensor_bytes(parts[i].type, parts[i].held.extent);
  };
  std::uint64_t room = std::max<std::uint64_t>(std::min(most, held.saved_bytes()), 1);
  for (std::size_t i = 0; i < parts.size(); ++i) room = std::max(room, bytes_of(i));

  struct pinned_block {
    std::shared_ptr<std::byte> memory{};
    std::shared_ptr<const stage::device_copies::mark> copied{};
  };
  pinned_block blocks[2];  // one is read into while the other goes to the device
  struct copies_end {
    const stage::device_copies& of;
    ~copies_end() { of.finish(); }
  } const guard{device};
  device.follow(options.stream);
  for (std::size_t begin = 0, end = 0, turn = 0; begin < parts.size(); begin = end, ++turn) {
    pinned_block& block = blocks[turn % 2];
    if (!block.memory) block.memory = device.make_pinned(room);
    if (block.copied) block.copied->await();
    tensor_list read;
    for (std::uint64_t at = 0; end < parts.size() && at + bytes_of(end) <= room; ++end) {
      read.add(parts[end].name, parts[end].type, parts[end].shape, parts[end].held,
               block.memory.get() + at);
      at += bytes_of(end);
    }
    load_to_host(read, options);
    for (std::size_t i = begin; i < end; ++i)
      if (bytes_of(i) > 0)
        device.upload(static_cast<std::byte*>(parts[i].data),
                      static_cast<const std::byte*>(read.listed()[i - begin].data), bytes_of(i));
    block.copied = device.mark_end();
  }
  for (const pinned_block& each : blocks)
    if (each.copied) each.copied->await();
}

MDSTREAM_INLINE void checkpoint::load_to_host(const tensor_list& into,
                                              const read_options& options) const {
  detail::read_planner planner(data_->layout);
  std::vector<load_target> targets;
  for (const detail::listed_tensor& each : into.listed()) {
    const std::string name = options.rename ? options.rename(each.name) : each.name;
    load_target target{.data = static_cast<std::byte*>(each.data)};
    const detail::stored_tensor* stored = data_->layout.find(name);
    if (stored != nullptr && options.cast && stored->type != each.type)
      target.cast = detail::find_cast(stored->type, each.type);
    if (stored != nullptr &&
        ((stored->type != each.type && target.cast.run == nullptr) || stored->shape != each.shape))
      throw error(errc::invalid_argument,
                  "tensor \"" + name + "\" is " + text_of(stored->type, stored->shape) +
                      " in the checkpoint, not " + text_of(each.type, each.shape));
    planner.want(name, each.held, static_cast<std::uint32_t>(targets.size()));
    targets.push_back(target);
  }
  fetch(std::move(planner).plan(), targets, options);
}

MDSTREAM_INLINE void checkpoint::read(std::string_view name, const box& part, mutable_bytes into,
                                      const read_options& options) const {
  detail::read_planner planner(data_->layout);
  planner.want(name, part, 0);
  const auto bytes = detail::tensor_bytes(data_->layout.find(name)->type, part.extent);
  if (bytes != into.size())
    throw error(errc::invalid_argument, "the part of \"" + std::string(name) + "\" has " +
                                            std::to_string(bytes.value_or(0)) +
                                            " bytes, the memory for it " +
                                            std::to_string(into.size()));
  fetch(std::move(planner).plan(), {{.data = into.data()}}, options);
}

MDSTREAM_INLINE std::vector<checkpoint_damage> checkpoint::verify(
    unsigned requests, const std::function<void(std::uint64_t)>& progress) const {
  std::vector<checkpoint_damage> out;
  std::mutex mutex;
  const auto blocks = detail::plan_verification(data_->layout);
  buffers memory;
  detail::in_parallel(blocks.size(), requests, [&](std::size_t i) {
    const detail::planned_fetch& block = blocks[i];
    try {
      fetch_checked(block, memory, [](bytes_view) {});
    } catch (const error& e) {
      if (e.code() != errc::corrupt && e.code() != errc::not_found) throw;
      const std::lock_guard lock(mutex);
      out.push_back({data_->layout.files[block.file].name, block.begin, block.end, e.where().what});
    }
    if (progress) progress(block.end - block.begin);
  });
  std::sort(out.begin(), out.end(), [](const checkpoint_damage& a, const checkpoint_damage& b) {
    return std::tie(a.file, a.begin) < std::tie(b.file, b.begin);
  });
  return out;
}

MDSTREAM_INLINE checkpoint::checkpoint(std::shared_ptr<detail::run_store> store,
                                       detail::checkpoint_manifest manifest,
                                       detail::data_layout layout,
                                       std::optional<std::uint64_t> reader,
                                       stage::device_copies device)
    : data_(std::make_shared<const contents>(std::move(store), std::move(manifest),
                                             std::move(layout), reader, std::move(device))) {}

MDSTREAM_INLINE checkpoint::contents::contents(std::shared_ptr<detail::run_store> s,
                                               detail::checkpoint_manifest m, detail::data_layout l,
                                               std::optional<std::uint64_t> r,
                                               stage::device_copies d)
    : store(std::move(s)),
      manifest(std::move(m)),
      layout(std::move(l)),
      reader(r),
      device(std::move(d)) {}

MDSTREAM_INLINE checkpoint::buffers::block checkpoint::buffers::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty())
    return std::make_unique_for_overwrite<std::byte[]>(
        static_cast<std::size_t>(detail::checksum_block + detail::most_tail));
  block out = std::move(free_.back());
  free_.pop_back();
  return out;
}

MDSTREAM_INLINE void checkpoint::buffers::give_back(block back) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(back));
}

MDSTREAM_INLINE std::string checkpoint::text_of(tensor_type type, const tensor_shape& shape) {
  return std::string(to_string(type)) + ' ' + detail::to_string(detail::extents(shape));
}

MDSTREAM_INLINE std::vector<checkpoint_info> checkpoint::list(detail::run_store& store,
                                                              const checkpoint_options& options) {
  const auto manifests = detail::listed_manifests(store.list("manifest/"));
  const auto pinned = detail::listed_notes(store.list("pins/"), "pins/");
  const auto bad = detail::listed_notes(store.list("bad/"), "bad/");
  const auto on_line = line(store, manifests, options.warn);
  const std::vector<detail::save_id> ids(manifests.begin(), manifests.end());
  std::vector<std::optional<std::string>> texts(ids.size());
  detail::in_parallel(ids.size(), 16,
                      [&](std::size_t i) { texts[i] = store.find(ids[i].manifest()); });
  std::vector<checkpoint_info> out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const detail::save_id& id = ids[i];
    if (!texts[i]) continue;  // removed meanwhile
    checkpoint_info made{.name = id.text(), .step = id.step};
    made.on_line = on_line.contains(id);
    made.pinned = pinned.contains(id);
    made.damaged = bad.contains(id);
    try {
      auto manifest = detail::read_manifest(*texts[i], id, {.url = store.url(id.manifest())});
      made.ranks = manifest.ranks;
      made.bytes = manifest.data_bytes;
      if (manifest.parent) made.parent = manifest.parent->text();
      made.metadata = std::move(manifest.metadata);
    } catch (const error& e) {
      if (options.warn) options.warn(e.what());
      made.damaged = true;
    }
    out.push_back(std::move(made));
  }
  return out;
}

MDSTREAM_INLINE std::set<detail::save_id> checkpoint::line(
    detail::run_store& store, const std::set<detail::save_id>& manifests,
    const warning_function& warn) {
  auto starts = detail::listed_starts::of(store.list("starts/")).recorded;
  for (const detail::save_id& each : manifests) starts.insert(each.start);
  if (starts.empty()) return {};
  const detail::start_id newest = *starts.rbegin();
  detail::start_record record;
  try {
    const std::string key = detail::start_key(newest);
    if (const auto text = store.find(key))
      record = detail::read_start(*text, newest, {.url = store.url(key)});
  } catch (const error& e) {
    if (e.code() != errc::corrupt) throw;
    if (warn) warn(e.what());
  }
  const auto found = detail::checkpoints_of_line(newest, record.line, manifests);
  return {found.begin(), found.end()};
}

MDSTREAM_INLINE detail::save_id checkpoint::find(detail::run_store& store, std::string_view name,
                                                 const checkpoint_options& options) {
  const auto manifests = detail::listed_manifests(store.list("manifest/"));
  if (const auto id = detail::save_id::parse(name); id && manifests.contains(*id)) return *id;
  if (const auto step = detail::parse_padded(name, 1)) {
    const auto has_step = [&](const detail::save_id& each) { return each.step == *step; };
    const auto on_line = line(store, manifests, options.warn);
    // Of several, the last start's; one that was rolled back only where there is no other.
    for (const auto* each : {&on_line, &manifests})
      if (const auto at = std::find_if(each->rbegin(), each->rend(), has_step); at != each->rend())
        return *at;
  }
  throw error(errc::not_found, {.what = "the run has no checkpoint \"" + std::string(name) + '"',
                                .url = store.url("")});
}

MDSTREAM_INLINE void checkpoint::fetch(const detail::read_plan& plan,
                                       const std::vector<load_target>& targets,
                                       const read_options& options) const {
  auto fetches = detail::plan_fetches(data_->layout, plan, options.check_all);
  for (detail::planned_fetch& one : fetches)
    for (const std::uint32_t each : one.copies)
      if (const auto& copy = plan.copies[each]; targets[copy.target].cast.run != nullptr)
        add_tail(one, data_->layout.files[one.file], copy, targets[copy.target].cast);
  buffers memory;
  detail::in_parallel(fetches.size(), options.requests, [&](std::size_t i) {
    const detail::planned_fetch& one = fetches[i];
    fetch_checked(one, memory, [&](bytes_view bytes) {
      for (const std::uint32_t each : one.copies) {
        const load_target& target = targets[plan.copies[each].target];
        detail::copy_window(plan.copies[each], {one.begin, bytes, one.tail}, target.data,
                            target.cast);
      }
    });
  });
}

MDSTREAM_INLINE void checkpoint::refuse(const detail::planned_fetch& one,
                                        const std::string& key) const {
  const detail::save_id& id = data_->manifest.id;
  if (data_->reader) {
    try {
      data_->store->publish(detail::bad_key(id, *data_->reader), "{}\n");
    } catch (const std::exception&) {  // the damage is what has to be told
    }
  }
  throw error(errc::corrupt,
              {.what = "the bytes " + std::to_string(one.begin) + " to " + std::to_string(one.end) +
                       (is_run() ? " are not those that were saved; there lies "
                                 : " are not there: the file is "
                                   "shorter than it was; it had ") +
                       detail::tensors_within(data_->layout, one.file, one.begin, one.end) +
                       (is_run() ? " of the checkpoint of step " + std::to_string(id.step) : ""),
               .url = data_->store->url(key),
               .byte = one.begin});
}

MDSTREAM_INLINE void pin_checkpoint(opened_store run, std::string_view name, std::string_view who,
                                    checkpoint_options options) {
  const checkpoint pinned = checkpoint::open(run, name, options);
  detail::run_store store = detail::reach(std::move(run), options);
  const auto id = detail::save_id::parse(pinned.name());
  store.publish(detail::pin_key(*id, who), "{}\n");
  // It may have gone before the pin was seen.
  if (!store.find(id->manifest()))
    throw error(errc::not_found,
                {.what = "the checkpoint was removed meanwhile", .url = store.url(id->manifest())});
}

MDSTREAM_INLINE void unpin_checkpoint(opened_store run, std::string_view name, std::string_view who,
                                      checkpoint_options options) {
  const auto id = detail::save_id::parse(name);
  if (!id)
    throw error(errc::invalid_argument, "\"" + std::string(name) + "\" is no checkpoint's name");
  detail::run_store store = detail::reach(std::move(run), options);
  const auto answer = store.perform(
      {.what = detail::protocol_request::verb::remove, .keys = {detail::pin_key(*id, who)}});
  (void)detail::require(answer, "cannot remove a pin");
}

}  // namespace mdstream::inline v0
