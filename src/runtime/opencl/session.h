#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/runtime/grid_session.h"
#include "src/runtime/opencl/api.h"
#include "src/runtime/opencl/device.h"

namespace tilewright {

/// Reference to an object of OpenCL. Move-only.
struct OpenClRelease {
  OpenClApi::Int (*release)(OpenClApi::Object) = nullptr;
  void operator()(OpenClApi::Object object) const { (void)release(object); }
};
using OpenClHandle = std::unique_ptr<void, OpenClRelease>;

/// OpenCL device in use by this process: a context, and a queue that executes in order and takes
/// times. Addresses are numbers of this session: OpenCL has buffers instead. An argument is the
/// part of a buffer from its address on, which must be a multiple of the device's alignment.
class OpenClSession final : public GridSession {
 public:
  /// Opens a device. ordinal: among the devices of all platforms.
  /// Errors: those of OpenClApi::Open and DescribeOpenClDevices; kNotFound if there is no such
  /// device.
  static Result<std::unique_ptr<OpenClSession>> Open(const std::string& library, int ordinal);
  ~OpenClSession() override;

  const OpenClDevice& device() const { return device_; }

  Result<GridMemory> Allocate(std::int64_t bytes) override;
  Status Write(std::uint64_t address, std::span<const std::byte> from) override;
  Status Read(std::uint64_t address, std::span<std::byte> to) override;
  Status Fill(std::uint64_t address, std::uint8_t value, std::int64_t bytes) override;
  /// source: OpenCL C.
  Result<GridProgram> Load(const std::string& source, std::vector<GridLaunch> launches) override;
  Status Enqueue(const GridProgram& program) override;
  Status Wait(double limit_seconds) override;
  Result<double> Time(GridProgram& program, std::int64_t calls, double limit_seconds) override;

 private:
  struct Code;
  /// Allocation, or a position in it.
  struct Place {
    OpenClApi::Object buffer = nullptr;
    std::size_t offset = 0, bytes = 0;  // bytes: from the offset to the end
  };
  struct Allocation {
    OpenClHandle buffer;
    std::size_t bytes = 0;
  };
  OpenClSession(OpenClApi api, OpenClDevice device);
  Status Start();
  Result<Place> PlaceOf(std::uint64_t address) const;
  static Status ReadImages(const std::string& source, Code& code);
  Status MakeImages(const GridProgram& program, Code& code);
  std::size_t PartBytes(const GridProgram& program, std::size_t argument) const;
  Status Bind(const GridProgram& program);
  using Events = std::vector<OpenClHandle>;
  /// Enqueues the launches once. events: receives an event of each unless null.
  Status EnqueueOnce(const GridProgram& program, Events* events);
  /// Limits of a command in seconds: until it starts to run, and until it ends.
  struct Limits {
    double to_start = 0, to_end = 0;
  };
  Status WaitFor(OpenClApi::Object event, const Limits& limits);
  Result<double> ProfiledSeconds(OpenClApi::Object first, OpenClApi::Object last) const;

  OpenClApi api_;
  OpenClDevice device_;
  OpenClHandle context_, queue_;
  std::map<std::uint64_t, Allocation> allocations_;  // by their first address
  std::uint64_t next_address_ = kFirstAddress;
  static constexpr std::uint64_t kFirstAddress = 1 << 20;
};

}  // namespace tilewright
