// Context and queue of an OpenCL device. A call is enqueued launch by launch; its time is that
// between the start of the first and the end of the last one by the device's clock.

#include "src/runtime/opencl/session.h"

#include <algorithm>
#include <utility>

#include "src/base/clock.h"
#include "src/base/math.h"

namespace tilewright {
namespace {

using Api = OpenClApi;

/// A driver may compile a kernel for its work group size at the first launch, before it runs.
constexpr double kCompileSeconds = 60, kCompileLimits = 5;
constexpr Api::Int kComplete = 0, kRunning = 1;
/// Driver's text about refused code: a page of it is enough.
constexpr std::size_t kMaxLog = 4000;

}  // namespace

/// Program and kernels, and the parts of buffers that are bound as their arguments.
struct OpenClSession::Code final : public GridProgram::Code {
  OpenClHandle program;
  std::vector<GridLaunch> launches;
  std::vector<OpenClHandle> kernels;           // one per launch
  std::vector<TwOpenClImage> declared;         // images of the source
  std::map<std::size_t, OpenClHandle> images;  // by argument, made at the first call
  std::vector<OpenClHandle> parts;
  bool bound = false;
  void ForgetArguments() override {
    parts.clear();
    bound = false;
  }
};

OpenClSession::OpenClSession(OpenClApi api, OpenClDevice device)
    : api_(std::move(api)), device_(std::move(device)) {}

OpenClSession::~OpenClSession() {
  allocations_.clear();
  queue_.reset();
  context_.reset();
}

Result<std::unique_ptr<OpenClSession>> OpenClSession::Open(const std::string& library,
                                                           int ordinal) {
  TW_ASSIGN_OR_RETURN(auto api, OpenClApi::Open(library));
  TW_ASSIGN_OR_RETURN(auto devices, DescribeOpenClDevices(api));
  if (ordinal < 0 || ordinal >= static_cast<int>(devices.size())) {
    return NotFound("no OpenCL device " + std::to_string(ordinal) + ", there are " +
                    std::to_string(devices.size()));
  }
  std::unique_ptr<OpenClSession> session(
      new OpenClSession(std::move(api), std::move(devices[static_cast<std::size_t>(ordinal)])));
  TW_RETURN_IF_ERROR(session->Start());
  return session;
}

Status OpenClSession::Start() {
  const Api::Name properties[] = {TW_CL_CONTEXT_PLATFORM,
                                  reinterpret_cast<Api::Name>(device_.platform), 0};
  Api::Int code = 0;
  Api::Object made = api_.CreateContext(properties, 1, &device_.handle, nullptr, nullptr, &code);
  TW_RETURN_IF_ERROR(Api::Check(code, "clCreateContext"));
  context_ = OpenClHandle(made, {api_.ReleaseContext});
  made = api_.CreateCommandQueue(context_.get(), device_.handle, TW_CL_PROFILING, &code);
  TW_RETURN_IF_ERROR(Api::Check(code, "clCreateCommandQueue"));
  queue_ = OpenClHandle(made, {api_.ReleaseCommandQueue});
  return {};
}

Result<GridMemory> OpenClSession::Allocate(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  Api::Int code = 0;
  Api::Object buffer = api_.CreateBuffer(context_.get(), TW_CL_READ_WRITE, size, nullptr, &code);
  TW_RETURN_IF_ERROR(Api::Check(code, "clCreateBuffer"));
  const std::uint64_t address = next_address_;
  allocations_[address] = {OpenClHandle(buffer, {api_.ReleaseMemObject}), size};
  // No address belongs to two allocations, also at their ends.
  next_address_ += static_cast<std::uint64_t>(
      RoundUp(static_cast<std::int64_t>(size) + 1, static_cast<std::int64_t>(kFirstAddress)));
  return GridMemory([this](std::uint64_t at) { allocations_.erase(at); }, address, bytes);
}

Result<OpenClSession::Place> OpenClSession::PlaceOf(std::uint64_t address) const {
  auto found = allocations_.upper_bound(address);
  if (found == allocations_.begin()) return InvalidArgument("an address outside of any buffer");
  --found;
  const auto offset = static_cast<std::size_t>(address - found->first);
  if (offset >= found->second.bytes) return InvalidArgument("an address outside of any buffer");
  return Place{found->second.buffer.get(), offset, found->second.bytes - offset};
}

Status OpenClSession::Write(std::uint64_t address, std::span<const std::byte> from) {
  if (from.empty()) return {};
  TW_ASSIGN_OR_RETURN(const auto place, PlaceOf(address));
  return Api::Check(
      api_.EnqueueWriteBuffer(queue_.get(), place.buffer, TW_CL_BLOCKING, place.offset, from.size(),
                              from.data(), 0, nullptr, nullptr),
      "clEnqueueWriteBuffer");
}

Status OpenClSession::Read(std::uint64_t address, std::span<std::byte> to) {
  if (to.empty()) return {};
  TW_ASSIGN_OR_RETURN(const auto place, PlaceOf(address));
  return Api::Check(api_.EnqueueReadBuffer(queue_.get(), place.buffer, TW_CL_BLOCKING, place.offset,
                                           to.size(), to.data(), 0, nullptr, nullptr),
                    "clEnqueueReadBuffer");
}

Status OpenClSession::Fill(std::uint64_t address, std::uint8_t value, std::int64_t bytes) {
  if (bytes <= 0) return {};
  TW_ASSIGN_OR_RETURN(const auto place, PlaceOf(address));
  return Api::Check(
      api_.EnqueueFillBuffer(queue_.get(), place.buffer, &value, sizeof(value), place.offset,
                             static_cast<std::size_t>(bytes), 0, nullptr, nullptr),
      "clEnqueueFillBuffer");
}

Result<GridProgram> OpenClSession::Load(const std::string& source,
                                        std::vector<GridLaunch> launches) {
  const char* text = source.c_str();
  const std::size_t length = source.size();
  Api::Int code = 0;
  Api::Object made = api_.CreateProgramWithSource(context_.get(), 1, &text, &length, &code);
  TW_RETURN_IF_ERROR(Api::Check(code, "clCreateProgramWithSource"));
  auto loaded = std::make_unique<Code>();
  loaded->program = OpenClHandle(made, {api_.ReleaseProgram});
  code = api_.BuildProgram(made, 1, &device_.handle, TwOpenClBuildOptions(device_.rounds_division),
                           nullptr, nullptr);
  if (code == TW_CL_BUILD_FAILURE) {
    std::string log(kMaxLog, '\0');
    std::size_t bytes = 0;
    if (api_.GetProgramBuildInfo(made, device_.handle, TW_CL_BUILD_LOG, 0, nullptr, &bytes) == 0) {
      log.resize(std::max(bytes, kMaxLog));
      (void)api_.GetProgramBuildInfo(made, device_.handle, TW_CL_BUILD_LOG, log.size(), log.data(),
                                     nullptr);
    }
    log.resize(std::min({log.find('\0'), log.size(), kMaxLog}));
    std::ranges::replace(log, '\n', ' ');
    return InvalidArgument(Api::Check(code, "clBuildProgram").message() + ": " + log);
  }
  TW_RETURN_IF_ERROR(Api::Check(code, "clBuildProgram"));
  loaded->launches = std::move(launches);
  TW_RETURN_IF_ERROR(ReadImages(source, *loaded));
  for (const GridLaunch& launch : loaded->launches) {
    if (!launch.library.file.empty() || launch.shared_bytes != 0) {
      return Unsupported(launch.kernel + ": a library call or memory of the launch, on OpenCL");
    }
    Api::Object kernel = api_.CreateKernel(made, launch.kernel.c_str(), &code);
    if (code == TW_CL_INVALID_KERNEL_NAME) {
      return NotFound("the program has no kernel " + launch.kernel);
    }
    TW_RETURN_IF_ERROR(Api::Check(code, "clCreateKernel"));
    loaded->kernels.emplace_back(kernel, OpenClRelease{api_.ReleaseKernel});
  }
  return GridProgram(std::move(loaded));
}

/// Reads the images that the source declares for the program of the launches.
Status OpenClSession::ReadImages(const std::string& source, Code& code) {
  if (code.launches.empty()) return {};
  const char* text = source.c_str();
  TwOpenClImage image;
  int found = 0;
  while ((found = TwOpenClNextImage(&text, code.launches[0].kernel.c_str(), &image)) > 0) {
    code.declared.push_back(image);
  }
  if (found < 0) return InvalidArgument("the source declares an image that is none");
  return {};
}

/// Makes the images. Their arguments are workspaces of at least as many bytes.
Status OpenClSession::MakeImages(const GridProgram& program, Code& code) {
  if (code.images.size() == code.declared.size()) return {};
  for (const TwOpenClImage& image : code.declared) {
    const std::string what = "image of " + std::to_string(image.width) + " x " +
                             std::to_string(image.height) + " texels";
    if (image.argument >= code.parts.size() ||
        PartBytes(program, image.argument) < TwOpenClImageBytes(&image)) {
      return InvalidArgument(what + " for argument " + std::to_string(image.argument) +
                             ", which has no place for it");
    }
    Api::Int error = 0;
    Api::Object made = TwOpenClMakeImage(&api_, context_.get(), &image, &error);
    TW_RETURN_IF_ERROR(Api::Check(error, "clCreateImage").WithContext(what));
    code.images[image.argument] = OpenClHandle(made, {api_.ReleaseMemObject});
  }
  return {};
}

/// Returns the bytes of an argument, up to the next one: kernels may not write
/// one of two overlapping parts.
std::size_t OpenClSession::PartBytes(const GridProgram& program, std::size_t argument) const {
  const std::uint64_t address = program.arguments()[argument];
  const auto place = PlaceOf(address);
  if (!place.ok()) return 0;
  std::size_t bytes = place->bytes;
  for (const std::uint64_t other : program.arguments()) {
    if (other > address) bytes = std::min<std::size_t>(bytes, other - address);
  }
  return bytes;
}

/// Sets the arguments of all kernels.
Status OpenClSession::Bind(const GridProgram& program) {
  auto& code = static_cast<Code&>(*program.code());
  if (code.bound) return {};
  code.parts.clear();  // of a call that failed
  for (std::size_t i = 0; i < program.arguments().size(); ++i) {
    TW_ASSIGN_OR_RETURN(const auto place, PlaceOf(program.arguments()[i]));
    const TwClRegion region = {place.offset, PartBytes(program, i)};
    Api::Int error = 0;
    Api::Object part =
        api_.CreateSubBuffer(place.buffer, TW_CL_READ_WRITE, TW_CL_BUFFER_REGION, &region, &error);
    TW_RETURN_IF_ERROR(Api::Check(error, "clCreateSubBuffer"));
    code.parts.emplace_back(part, OpenClRelease{api_.ReleaseMemObject});
  }
  TW_RETURN_IF_ERROR(MakeImages(program, code));
  for (const OpenClHandle& kernel : code.kernels) {
    for (std::size_t i = 0; i < code.parts.size(); ++i) {
      const auto image = code.images.find(i);
      const Api::Object part =
          image == code.images.end() ? code.parts[i].get() : image->second.get();
      TW_RETURN_IF_ERROR(Api::Check(
          api_.SetKernelArg(kernel.get(), static_cast<Api::Uint>(i), sizeof(part), &part),
          "clSetKernelArg"));
    }
  }
  code.bound = true;
  return {};
}

Status OpenClSession::EnqueueOnce(const GridProgram& program, Events* events) {
  TW_RETURN_IF_ERROR(Bind(program));
  const auto& code = static_cast<Code&>(*program.code());
  for (std::size_t i = 0; i < code.launches.size(); ++i) {
    const GridLaunch& launch = code.launches[i];
    std::array<std::size_t, 3> global{}, local{};
    for (std::size_t d = 0; d < 3; ++d) {
      local[d] = static_cast<std::size_t>(launch.block[d]);
      global[d] = static_cast<std::size_t>(launch.grid[d]) * local[d];
    }
    Api::Object event = nullptr;
    const Api::Int enqueued =
        api_.EnqueueNDRangeKernel(queue_.get(), code.kernels[i].get(), 3, nullptr, global.data(),
                                  local.data(), 0, nullptr, events != nullptr ? &event : nullptr);
    if (enqueued == TW_CL_DEVICE_NOT_AVAILABLE) fault_ = GridFault::kDeviceLost;
    TW_RETURN_IF_ERROR(Api::Check(enqueued, "clEnqueueNDRangeKernel").WithContext(launch.kernel));
    if (events != nullptr) events->emplace_back(event, OpenClRelease{api_.ReleaseEvent});
  }
  return {};
}

Status OpenClSession::Enqueue(const GridProgram& program) { return EnqueueOnce(program, nullptr); }

Status OpenClSession::Wait(double limit_seconds) {
  Api::Object event = nullptr;
  TW_RETURN_IF_ERROR(Api::Check(api_.EnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event),
                                "clEnqueueMarkerWithWaitList"));
  const OpenClHandle owned(event, {api_.ReleaseEvent});
  TW_RETURN_IF_ERROR(Api::Check(api_.Flush(queue_.get()), "clFlush"));
  return WaitFor(event, {.to_start = limit_seconds, .to_end = limit_seconds});
}

/// Polls, because clWaitForEvents has no limit.
Status OpenClSession::WaitFor(OpenClApi::Object event, const Limits& limits) {
  constexpr double kBusySeconds = 2e-4, kSleepSeconds = 1e-4;
  SystemClock clock;
  double since = clock.MonotonicSeconds();
  bool runs = false;
  while (true) {
    Api::Int state = 0;
    const Api::Int known =
        api_.GetEventInfo(event, TW_CL_EVENT_STATUS, sizeof(state), &state, nullptr);
    if (known != 0) fault_ = GridFault::kKernelFault;  // the context is lost with the kernel
    TW_RETURN_IF_ERROR(Api::Check(known, "clGetEventInfo"));
    if (state == kComplete) return {};
    if (state < 0) {
      fault_ =
          state == TW_CL_DEVICE_NOT_AVAILABLE ? GridFault::kDeviceLost : GridFault::kKernelFault;
      return Api::Check(state, "the kernel");
    }
    const double now = clock.MonotonicSeconds();
    if (!runs && state == kRunning) {
      runs = true;
      since = now;
    }
    if (now - since > (runs ? limits.to_end : limits.to_start)) {
      timed_out_ = true;
      return Unavailable("the device did not finish in time");
    }
    // A device that is this processor needs the core.
    if (device_.is_cpu || now - since > kBusySeconds) clock.SleepSeconds(kSleepSeconds);
  }
}

Result<double> OpenClSession::ProfiledSeconds(OpenClApi::Object first,
                                              OpenClApi::Object last) const {
  std::uint64_t started = 0, ended = 0;
  TW_RETURN_IF_ERROR(Api::Check(
      api_.GetEventProfilingInfo(first, TW_CL_EVENT_STARTED, sizeof(started), &started, nullptr),
      "clGetEventProfilingInfo"));
  TW_RETURN_IF_ERROR(Api::Check(
      api_.GetEventProfilingInfo(last, TW_CL_EVENT_ENDED, sizeof(ended), &ended, nullptr),
      "clGetEventProfilingInfo"));
  if (ended < started) return Unavailable("clGetEventProfilingInfo: the end is before the start");
  return static_cast<double>(ended - started) * 1e-9;
}

Result<double> OpenClSession::Time(GridProgram& program, std::int64_t calls, double limit_seconds) {
  if (calls < 1 || static_cast<Code&>(*program.code()).launches.empty()) {
    return InvalidArgument("nothing to time");
  }
  Events first, last;
  for (std::int64_t i = 0; i < calls; ++i) {
    Events* events = i == 0 ? &first : i + 1 == calls ? &last : nullptr;
    TW_RETURN_IF_ERROR(EnqueueOnce(program, events));
  }
  TW_RETURN_IF_ERROR(Api::Check(api_.Flush(queue_.get()), "clFlush"));
  for (const OpenClHandle& event : first) {
    const double to_start = std::max(kCompileSeconds, kCompileLimits * limit_seconds);
    TW_RETURN_IF_ERROR(WaitFor(event.get(), {.to_start = to_start, .to_end = limit_seconds}));
  }
  const Events& ends = last.empty() ? first : last;
  TW_RETURN_IF_ERROR(
      WaitFor(ends.back().get(), {.to_start = limit_seconds, .to_end = limit_seconds}));
  return ProfiledSeconds(first.front().get(), ends.back().get());
}

}  // namespace tilewright
