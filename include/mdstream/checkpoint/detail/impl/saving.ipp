#pragma once

#include <mdstream/checkpoint/detail/commit.hpp>
#include <mdstream/checkpoint/detail/cut_tensors.hpp>
#include <mdstream/checkpoint/detail/saving.hpp>
#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE saving::saving(saver_options options)
    : options_(checked(std::move(options))),
      threads_(1),
      run_(std::make_shared<run_store>(places(), patient_requests(options_.patience), options_.warn,
                                       &threads_)),
      memory_(options_.memory.value, options_.device),
      copies_(options_.device ? 1 : options_.copy_threads),  // the device copies in its order
      uploads_(options_.uploads) {}

MDSTREAM_INLINE saving::~saving() {
  run_->stop();
  memory_.stop();
  copies_.finish();  // these hand files on to the others
  uploads_.finish();
}

MDSTREAM_INLINE std::optional<checkpoint> saving::resume_point() {
  start();
  if (!started_->manifest) return std::nullopt;
  return checkpoint(
      std::make_shared<run_store>(places(), patient_requests(options_.patience), options_.warn),
      *started_->manifest, started_->layout, options_.world.rank, options_.device);
}

MDSTREAM_INLINE std::string saving::own_of(const checkpoint& of) const {
  return of.ranks() == options_.world.num_ranks() ? of.own(options_.world.rank) : std::string();
}

MDSTREAM_INLINE void saving::save(std::uint64_t step, const tensor_list& tensors, save_options what,
                                  stage::stream_handle stream) {
  start();
  finish();
  if (superseded_) std::rethrow_exception(superseded_);
  if (last_step_ && step <= *last_step_)
    throw error(errc::invalid_argument,
                "step " + std::to_string(step) + " cannot be saved after step " +
                    std::to_string(*last_step_) + ": a job saves its steps in rising order");
  if (what.own.size() > most_own_bytes)
    throw error(errc::invalid_argument,
                "a rank may keep 65536 bytes of its own, not " + std::to_string(what.own.size()));
  const std::uint64_t most = file_bytes();
  auto made = std::make_shared<one_save>();
  made->id = {started_->record.id, step};
  made->name = made->id.text();
  made->what = std::move(what);
  made->tensors = cut_tensors(tensors, most);
  made->files = plan_files(made->tensors, options_.world.rank, most);
  made->layout = layout_of(made->tensors, made->files);
  made->blocks.resize(made->files.size());
  made->copies_left = made->files.size();
  made->uploads_left = made->files.size() + 1;
  if (options_.device) options_.device.follow(stream);
  last_step_ = step;
  {
    const std::lock_guard lock(mutex_);
    current_ = made;
  }
  uploads_.post([this, made] { look(*made); });  // which the others wait for
  for (std::size_t i = 0; i < made->files.size(); ++i)
    copies_.post([this, made, i] { copy(made, i); });
}

MDSTREAM_INLINE std::shared_ptr<const stage::device_copies::mark> saving::wait_copies() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !current_ || current_->copies_left == 0; });
  return current_ ? current_->copied : nullptr;
}

MDSTREAM_INLINE void saving::wait_snapshot() {
  if (const auto copied = wait_copies()) copied->await();
}

MDSTREAM_INLINE void saving::wait_snapshot(stage::stream_handle stream) {
  if (const auto copied = wait_copies()) copied->hold_back(stream);
}

MDSTREAM_INLINE void saving::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !current_ || current_->over; });
  const auto ended = std::exchange(current_, nullptr);
  lock.unlock();
  if (ended && ended->failure && !options_.on_saved) std::rethrow_exception(ended->failure);
}

MDSTREAM_INLINE saver_options saving::checked(saver_options options) {
  options.world.check();
  if (options.memory.value == 0 || options.file_bytes.value == 0)
    throw error(errc::invalid_argument, "a saver needs memory, and files some bytes");
  const bool alone = options.world.num_ranks() == 1;
  if (options.token.empty() && !options.broadcast && !alone)
    options.token = launch::token_from_environment(
        [](const char* name) -> const char* { return std::getenv(name); });
  if (options.token.empty() && !options.broadcast && !alone)
    throw error(errc::invalid_argument,
                "the " + std::to_string(options.world.num_ranks()) +
                    " ranks have no way to agree on a checkpoint: neither Slurm, torchrun "
                    "(--rdzv-id) nor PMIx names this launch; set `token` or `broadcast`");
  if (options.broadcast) options.token.clear();
  return options;
}

MDSTREAM_INLINE std::vector<opened_store> saving::places() const {
  return places_of(options_.run, options_.mirrors);
}

MDSTREAM_INLINE std::uint64_t saving::file_bytes() const noexcept {
  return std::max<std::uint64_t>(std::min(options_.file_bytes.value, options_.memory.value / 4), 1);
}

MDSTREAM_INLINE std::uint64_t saving::seed() { return random_bits(); }

MDSTREAM_INLINE void saving::start() {
  if (started_) return;
  const bool first = options_.world.rank == 0;
  const start_options about{.token = options_.token,
                            .ranks = options_.world.num_ranks(),
                            .seed = seed(),
                            .patience = options_.rank_patience,
                            .store_patience = options_.patience,
                            .warn = options_.warn,
                            .accept = options_.accept};
  protocol_channel channel;
  started_run made;
  std::exception_ptr failure;
  try {
    if (first)
      run_->run(channel, begin_start(channel, about, made));
    else if (!options_.broadcast)
      run_->run(channel, await_start(channel, about, made));
  } catch (...) {
    failure = std::current_exception();
  }
  if (options_.broadcast) {  // after a failure, too: the others wait for it
    std::string text = first && !failure ? write_start(made.record) : std::string();
    options_.broadcast(text);
    if (!first && text.empty())
      throw error(errc::unavailable, "rank 0 could not start the run: its own error says why");
    if (!first) run_->run(channel, join_start(channel, std::move(text), about, made));
  }
  if (failure) std::rethrow_exception(failure);
  if (made.manifest) parent_ = made.manifest->id;
  if (first)
    retention_.emplace(retention_policy{.last = options_.keep.last, .every = options_.keep.every},
                       made.record, options_.keep.grace);
  run_->go_on_without();
  started_ = std::move(made);
}

MDSTREAM_INLINE void saving::fail(one_save& in, std::exception_ptr why) {
  const std::lock_guard lock(mutex_);
  if (!in.failure) in.failure = std::move(why);
}

MDSTREAM_INLINE bool saving::has_failed(const one_save& in) {
  const std::lock_guard lock(mutex_);
  return in.failure != nullptr;
}

MDSTREAM_INLINE void saving::fill(const one_save& in, const planned_file& file,
                                  filled_block& block) {
  block.memory = memory_.take(static_cast<std::size_t>(file.bytes));
  std::byte* const out = block.memory.data.get();
  std::memcpy(out, file.head.data(), file.head.size());
  for (const planned_piece& each : file.pieces) {
    const auto* const data = static_cast<const std::byte*>(in.tensors.listed()[each.listed].data);
    if (each.bytes == 0) continue;
    if (options_.device)
      options_.device.download(out + each.at, data, each.bytes);
    else
      std::memcpy(out + each.at, data, static_cast<std::size_t>(each.bytes));
  }
  if (options_.device) block.copied = options_.device.mark_end();
}

MDSTREAM_INLINE void saving::copy(const save_ptr& in, std::size_t number) {
  filled_block& block = in->blocks[number];
  if (!has_failed(*in)) {
    try {
      fill(*in, in->files[number], block);
    } catch (const std::bad_alloc&) {
      fail(*in,
           mdstream::detail::exception_of(errc::unavailable, "there is no memory for a snapshot"));
    } catch (...) {
      fail(*in, std::current_exception());
      if (options_.device) options_.device.finish();  // nothing marks the end of what was begun
    }
  }
  const auto copied = block.copied;
  uploads_.post([this, in, number] { upload(*in, number); });
  const std::lock_guard lock(mutex_);
  if (copied) in->copied = copied;
  if (--in->copies_left == 0) changed_.notify_all();
}

MDSTREAM_INLINE void saving::upload(one_save& in, std::size_t number) {
  filled_block block = std::move(in.blocks[number]);
  try {
    if (block.copied) block.copied->await();
    if (may_upload(in)) {
      data_file& file = in.layout.files[number];
      const bytes_view bytes(block.memory.data.get(), static_cast<std::size_t>(file.bytes));
      for (std::size_t at = 0; at < bytes.size(); at += checksum_block)
        file.crcs.push_back(mdstream::detail::crc32c(
            bytes.subspan(at, std::min<std::size_t>(checksum_block, bytes.size() - at))));
      run_->write(in.id.directory() + file.name, bytes);
    }
  } catch (...) {
    fail(in, std::current_exception());
    if (options_.device) options_.device.finish();  // the memory is used again
  }
  if (block.memory.data) memory_.give_back(std::move(block.memory));
  end_upload(in);
}

MDSTREAM_INLINE void saving::look(one_save& in) {
  try {
    const std::uint64_t rank = options_.world.rank;
    const std::string record = in.id.record(rank);
    const auto there = run_->list(record);  // which does without stores that fail
    in.is_saved = !there.empty() && there.front().key == record;
    if (in.is_saved)
      throw error(errc::invalid_argument,
                  "rank " + std::to_string(rank) + " of this start has saved step " +
                      std::to_string(in.id.step) +
                      " before: another launch had the same token; each needs its own");
    protocol_channel channel;
    listed_starts starts;
    run_->run(channel, require_newest_start(channel, in.id.start, starts));
  } catch (...) {
    fail(in, std::current_exception());
  }
  {
    const std::lock_guard lock(mutex_);
    in.has_looked = true;
    changed_.notify_all();
  }
  end_upload(in);
}

MDSTREAM_INLINE bool saving::may_upload(const one_save& in) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&in] { return in.has_looked; });
  return !in.failure;
}

MDSTREAM_INLINE void saving::end_upload(one_save& in) {
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    last = --in.uploads_left == 0;
  }
  if (last) complete(in);
}

MDSTREAM_INLINE void saving::complete(one_save& in) {
  const std::uint64_t rank = options_.world.rank;
  try {
    if (in.failure) std::rethrow_exception(in.failure);
    const rank_record record{.id = in.id,
                             .rank = rank,
                             .ranks = options_.world.num_ranks(),
                             .loader_state = in.what.loader_state,
                             .own = in.what.own,
                             .data = std::move(in.layout)};
    run_->publish(in.id.record(rank), write_record(record));
    if (rank == 0) commit(in);
  } catch (...) {
    in.failure = std::current_exception();  // nobody else works on it any more
    if (code_of(in.failure) == errc::superseded) superseded_ = in.failure;
    if (retention_) retention_->has_failed();
    if (rank != 0 && !in.is_saved && !run_->stopped()) tell_rank_0(in);
  }
  if (options_.on_saved)
    options_.on_saved(in.failure,
                      {.step = in.id.step, .name = std::move(in.name), .complete = !in.failure});
  const std::lock_guard lock(mutex_);
  in.over = true;
  changed_.notify_all();
}

MDSTREAM_INLINE void saving::tell_rank_0(const one_save& in) noexcept {
  try {
    rank_record record{
        .id = in.id, .rank = options_.world.rank, .ranks = options_.world.num_ranks()};
    try {
      std::rethrow_exception(in.failure);
    } catch (const std::exception& e) {
      record.failed = e.what();
    }
    // As a name of a file may not be; a record is text.
    for (std::size_t at; (at = first_invalid_utf8(record.failed)) != record.failed.size();)
      record.failed[at] = '?';
    run_->publish(in.id.record(record.rank), write_record(record));
  } catch (...) {  // it hears of it by its patience
  }
}

MDSTREAM_INLINE void saving::commit(const one_save& in) {
  protocol_channel channel;
  checkpoint_manifest made;
  run_->run(channel, commit_checkpoint(channel,
                                       {.id = in.id,
                                        .parent = parent_,
                                        .ranks = options_.world.num_ranks(),
                                        .metadata = in.what.metadata,
                                        .patience = options_.rank_patience,
                                        .store_patience = options_.patience,
                                        .seed = seed(),
                                        .warn = options_.warn},
                                       made));
  parent_ = in.id;
  retention_plan removed;
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
  try {
    run_->run(channel, retention_->sweep(channel, in.id.step, now, removed));
  } catch (const error& e) {
    // The checkpoint is complete all the same; the next save finds out that it is not the last.
    if (options_.warn && !run_->stopped())
      options_.warn("the checkpoint " + in.id.text() +
                    " is complete, but old ones could not be removed: " + e.what());
  }
}

}  // namespace mdstream::inline v0::detail
