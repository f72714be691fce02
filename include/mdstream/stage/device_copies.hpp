#pragma once

/// Copies between the memory of a device and pinned memory, behind one type for any device: for
/// what is copied per tensor, not per sample. Programs use stage/cuda_copies.hpp.

#include <mdstream/core/error.hpp>
#include <mdstream/stage/detail/device_api.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::stage {

/// Copies of one device, in their order, on a stream of their own; or, default-made, no device.
///
/// Lifetime: copies of this object share the stream. Marks and pinned memory keep it alive.
/// Thread safety: any number of threads. Errors: `errc::device_error` with the runtime's name of
/// the failure; `errc::invalid_argument` for a stream of another device.
///
///     mds::stage::device_copies device = mds::stage::cuda_copies();
class device_copies {
 public:
  /// The end of what was enqueued when it was made.
  class mark {
   public:
    mark() = default;
    mark(const mark&) = delete;
    mark& operator=(const mark&) = delete;
    virtual ~mark() = default;
    /// The calling thread waits for it.
    virtual void await() const = 0;
    /// Later work on `stream` waits for it; the calling thread does not.
    virtual void hold_back(stream_handle stream) const = 0;
  };

  device_copies() = default;
  /// Implicit, so that a runtime can stand wherever a device is asked for.
  template <class Api>
    requires(!std::same_as<Api, device_copies> && detail::device_api<Api>)
  device_copies(Api api) : device_(std::make_shared<model<Api>>(std::move(api))) {}

  explicit operator bool() const noexcept { return device_ != nullptr; }

  /// Host memory that the device copies from and to without a detour.
  [[nodiscard]] std::shared_ptr<std::byte> make_pinned(std::uint64_t bytes) const {
    return {device_->make_pinned(bytes),
            [owner = device_](std::byte* memory) { owner->free_pinned(memory); }};
  }
  /// Copies from here on see what `stream` holds now.
  void follow(stream_handle stream) const { device_->follow(stream); }
  /// From the device to pinned memory.
  void download(std::byte* to, const std::byte* from, std::uint64_t bytes) const {
    device_->download(to, from, bytes);
  }
  /// From pinned memory to the device.
  void upload(std::byte* to, const std::byte* from, std::uint64_t bytes) const {
    device_->upload(to, from, bytes);
  }
  [[nodiscard]] std::shared_ptr<const mark> mark_end() const { return device_->mark_end(); }
  /// Waits for all copies, also where some of them failed.
  void finish() const noexcept { device_->finish(); }

 private:
  struct interface {
    interface() = default;
    interface(const interface&) = delete;
    interface& operator=(const interface&) = delete;
    virtual ~interface() = default;
    [[nodiscard]] virtual std::byte* make_pinned(std::uint64_t bytes) = 0;
    virtual void free_pinned(std::byte* memory) noexcept = 0;
    virtual void follow(stream_handle stream) = 0;
    virtual void download(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
    virtual void upload(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
    [[nodiscard]] virtual std::shared_ptr<const mark> mark_end() = 0;
    virtual void finish() noexcept = 0;
  };

  template <detail::device_api Api>
  class model final : public interface, public std::enable_shared_from_this<model<Api>> {
    using event = typename Api::event;
    using status = typename Api::status;

   public:
    explicit model(Api api) : api_(std::move(api)) {
      const on_device current(*this);
      check(api_.make_stream(stream_), "cannot make a stream");
    }
    ~model() override {
      typename Api::scope before{};
      if (api_.enter(before) != status{}) return;  // nothing can be freed without the device
      static_cast<void>(api_.await(stream_));
      api_.free_stream(stream_);
      api_.leave(before);
    }

    std::byte* make_pinned(std::uint64_t bytes) override {
      const on_device current(*this);
      std::byte* memory = nullptr;
      check(api_.make_pinned(memory, bytes),
            "cannot allocate " + std::to_string(bytes) + " bytes of pinned memory");
      return memory;
    }
    void free_pinned(std::byte* memory) noexcept override {
      quietly([&] { api_.free_pinned(memory); });
    }
    void follow(stream_handle stream) override {
      require_own(stream);
      const on_device current(*this);
      const end now(this->shared_from_this(), stream);
      check(api_.hold(stream_, now.at), "cannot wait for the stream of the tensors");
    }
    void download(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
      const on_device current(*this);
      check(api_.download(to, from, bytes, stream_), "cannot copy a tensor from the device");
    }
    void upload(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
      const on_device current(*this);
      check(api_.upload(to, from, bytes, stream_), "cannot copy a tensor to the device");
    }
    std::shared_ptr<const mark> mark_end() override {
      const on_device current(*this);
      return std::make_shared<end>(this->shared_from_this(), stream_);
    }
    void finish() noexcept override {
      quietly([&] { static_cast<void>(api_.await(stream_)); });
    }

   private:
    /// The device is current while this lives.
    class on_device {
     public:
      explicit on_device(model& of) : of_(of) {
        of.check(of.api_.enter(before_), "cannot use the device");
      }
      on_device(const on_device&) = delete;
      on_device& operator=(const on_device&) = delete;
      ~on_device() { of_.api_.leave(before_); }

     private:
      model& of_;
      typename Api::scope before_{};
    };

    struct end final : mark {
      /// What `stream` holds; the device is current.
      end(std::shared_ptr<model> of, stream_handle stream) : owner(std::move(of)) {
        owner->check(owner->api_.make_event(at), "cannot make an event");
        try {
          owner->check(owner->api_.record(at, stream), "cannot record the end of a copy");
        } catch (...) {
          owner->api_.free_event(at);
          throw;
        }
      }
      ~end() override {
        owner->quietly([&] { owner->api_.free_event(at); });
      }
      void await() const override {
        const on_device current(*owner);
        owner->check(owner->api_.await(at), "waiting for a copy of tensors failed");
      }
      void hold_back(stream_handle stream) const override {
        owner->require_own(stream);
        const on_device current(*owner);
        owner->check(owner->api_.hold(stream, at), "cannot make a stream wait for a copy");
      }
      std::shared_ptr<model> owner;
      event at{};
    };

    template <class Work>
    void quietly(Work&& work) noexcept {
      typename Api::scope before{};
      if (api_.enter(before) != status{}) return;
      work();
      api_.leave(before);
    }

    [[nodiscard]] error failed(std::string_view what, std::string cause, errc code) const {
      return {code,
              diagnostics{.what = std::string(what) + ", device " + std::to_string(api_.device()),
                          .cause = std::move(cause)}};
    }
    void check(status outcome, std::string_view what) const {
      if (outcome != status{}) throw failed(what, api_.describe(outcome), errc::device_error);
    }
    void require_own(stream_handle stream) const {
      bool is_own = false;
      check(api_.owns(stream, is_own), "cannot tell the device of a stream");
      if (!is_own)
        throw failed("tensors cannot be copied in the order of a stream of another device",
                     "their device has to be current where its default stream is meant",
                     errc::invalid_argument);
    }

    Api api_;
    stream_handle stream_ = nullptr;
  };

  std::shared_ptr<interface> device_;
};

}  // namespace mdstream::inline v0::stage
