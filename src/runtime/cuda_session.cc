// Context of the CUDA driver: memory, modules, launches, and times between events. Repeated calls
// are recorded as a graph, so that launching costs almost nothing.

#include "src/runtime/cuda_session.h"

#include <algorithm>
#include <utility>

#include "src/base/clock.h"

namespace tilewright {
namespace {

// Synchronizes with the default stream, which Write copies on: a copy from pageable memory may
// return before the device has all of it.
constexpr unsigned kOrderedStream = 0;
constexpr unsigned kTimingEvent = 0;
constexpr int kInvalidImage = 200, kInvalidPtx = 218, kUnsupportedPtx = 222;
constexpr int kNoBinaryForDevice = 209, kNotFoundCode = 500;

}  // namespace

/// Module and kernels of a program, and the recorded graph with its arguments.
struct CudaSession::Code final : public GridProgram::Code {
  CudaHandle module;
  std::vector<GridLaunch> launches;
  std::vector<void*> functions;  // one per launch; null for a library call
  std::vector<GridMemory> scratch;
  std::vector<std::unique_ptr<CudaFunction>> calls;  // one per launch; null for a kernel
  CudaHandle replay;                                 // null until it is needed
  std::int64_t replay_calls = 0;
  void ForgetArguments() override { replay.reset(); }
};

CudaSession::Code& CudaSession::CodeOf(const GridProgram& program) {
  return static_cast<Code&>(*program.code());
}

CudaSession::CudaSession(CudaApi api, CudaDevice device, int handle)
    : api_(std::move(api)), device_(std::move(device)), handle_(handle) {}

CudaSession::~CudaSession() {
  // Objects of the context are released before it.
  for (CudaHandle* handle : {&end_, &start_, &stream_}) handle->reset();
  if (retained_) (void)api_.release_context(handle_);
}

Status CudaSession::Check(int code, const char* call) {
  if (fault_ == GridFault::kNone) fault_ = CudaApi::FaultOf(code);
  return api_.Check(code, call);
}

Result<std::unique_ptr<CudaSession>> CudaSession::Open(const std::string& library, int ordinal) {
  TW_ASSIGN_OR_RETURN(auto api, CudaApi::Open(library));
  int count = 0;
  TW_RETURN_IF_ERROR(api.Check(api.device_count(&count), "cuDeviceGetCount"));
  if (ordinal < 0 || ordinal >= count) {
    return NotFound((api.is_hip != 0 ? "no AMD device " : "no CUDA device ") +
                    std::to_string(ordinal) + ", there are " + std::to_string(count));
  }
  TW_ASSIGN_OR_RETURN(auto device, DescribeCudaDevice(api, ordinal));
  int handle = 0;
  TW_RETURN_IF_ERROR(api.Check(api.get_device(&handle, ordinal), "cuDeviceGet"));
  std::unique_ptr<CudaSession> session(new CudaSession(std::move(api), std::move(device), handle));
  TW_RETURN_IF_ERROR(session->Start());
  return session;
}

Status CudaSession::Start() {
  void* context = nullptr;
  TW_RETURN_IF_ERROR(Check(api_.retain_context(&context, handle_), "cuDevicePrimaryCtxRetain"));
  retained_ = true;
  TW_RETURN_IF_ERROR(Check(api_.set_context(context), "cuCtxSetCurrent"));
  void* stream = nullptr;
  TW_RETURN_IF_ERROR(Check(api_.create_stream(&stream, kOrderedStream), "cuStreamCreate"));
  stream_ = CudaHandle(stream, {api_.destroy_stream});
  for (CudaHandle* event : {&start_, &end_}) {
    void* made = nullptr;
    TW_RETURN_IF_ERROR(Check(api_.create_event(&made, kTimingEvent), "cuEventCreate"));
    *event = CudaHandle(made, {api_.destroy_event});
  }
  return {};
}

Result<GridMemory> CudaSession::Allocate(std::int64_t bytes) {
  std::uint64_t address = 0;
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  TW_RETURN_IF_ERROR(Check(api_.allocate(&address, size), "cuMemAlloc"));
  return GridMemory([release = api_.release](std::uint64_t at) { (void)release(at); }, address,
                    bytes);
}

Status CudaSession::Write(std::uint64_t address, std::span<const std::byte> from) {
  return Check(api_.copy_to_device(address, from.data(), from.size()), "cuMemcpyHtoD");
}

Status CudaSession::Read(std::uint64_t address, std::span<std::byte> to) {
  return Check(api_.copy_to_host(to.data(), address, to.size()), "cuMemcpyDtoH");
}

Status CudaSession::Fill(std::uint64_t address, std::uint8_t value, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  return Check(api_.fill(address, value, size, stream_.get()), "cuMemsetD8Async");
}

Result<GridProgram> CudaSession::Load(const std::string& ptx, std::vector<GridLaunch> launches) {
  std::array<char, 2048> words{};
  int keys[] = {TW_CUDA_ERROR_LOG, TW_CUDA_ERROR_LOG_BYTES};
  void* values[] = {words.data(), reinterpret_cast<void*>(words.size() - 1)};
  void* module = nullptr;
  const int code = api_.load_module(&module, ptx.c_str(), 2, keys, values);
  if (code == kInvalidImage || code == kInvalidPtx || code == kUnsupportedPtx ||
      code == kNoBinaryForDevice) {
    return InvalidArgument(Check(code, "cuModuleLoadDataEx").message() +
                           (words[0] != 0 ? std::string(": ") + words.data() : ""));
  }
  TW_RETURN_IF_ERROR(Check(code, "cuModuleLoadDataEx"));
  auto loaded = std::make_unique<Code>();
  loaded->module = CudaHandle(module, {api_.unload_module});
  loaded->launches = std::move(launches);
  for (const GridLaunch& launch : loaded->launches) {
    loaded->calls.emplace_back();
    void* function = nullptr;
    if (!launch.library.file.empty()) {
      TW_RETURN_IF_ERROR(PrepareCall(launch, *loaded));
      loaded->functions.push_back(nullptr);
      continue;
    }
    const int found = api_.get_function(&function, module, launch.kernel.c_str());
    if (found == kNotFoundCode) return NotFound("the module has no kernel " + launch.kernel);
    TW_RETURN_IF_ERROR(Check(found, "cuModuleGetFunction"));
    TW_RETURN_IF_ERROR(AllowShared(function, launch));
    loaded->functions.push_back(function);
  }
  return GridProgram(std::move(loaded));
}

Status CudaSession::PrepareCall(const GridLaunch& launch, Code& code) {
  const CudaScratch scratch = [&](std::size_t bytes) -> Result<std::uint64_t> {
    TW_ASSIGN_OR_RETURN(auto memory, Allocate(static_cast<std::int64_t>(bytes)));
    code.scratch.push_back(std::move(memory));
    return code.scratch.back().address();
  };
  TW_ASSIGN_OR_RETURN(auto call, PrepareCudaFunction(launch.library, stream_.get(), scratch));
  code.calls.back() = std::move(call);
  return {};
}

Status CudaSession::AllowShared(void* function, const GridLaunch& launch) {
  // HIP gives a block all that its device has without a request.
  if (launch.shared_bytes == 0 || api_.set_function == nullptr) return {};
  const int code = api_.set_function(function, TW_CUDA_MOST_DYNAMIC_SHARED,
                                     static_cast<int>(launch.shared_bytes));
  return Check(code, "cuFuncSetAttribute")
      .WithContext(launch.kernel + " with " + std::to_string(launch.shared_bytes) +
                   " bytes of shared memory");
}

Status CudaSession::Enqueue(const GridProgram& program) {
  const Code& loaded = CodeOf(program);
  std::vector<std::uint64_t> values = program.arguments();
  std::vector<void*> arguments;
  for (std::uint64_t& value : values) arguments.push_back(&value);
  for (std::size_t i = 0; i < loaded.launches.size(); ++i) {
    const auto size = [](std::int64_t extent) { return static_cast<unsigned>(extent); };
    const GridLaunch& launch = loaded.launches[i];
    if (loaded.calls[i] != nullptr) {
      const auto operand = [&](std::size_t k) {
        const auto position = static_cast<std::size_t>(launch.library.operands[k]);
        return position < values.size() ? values[position] : 0;
      };
      TW_RETURN_IF_ERROR(loaded.calls[i]->Enqueue(operand(0), operand(1), operand(2)));
      continue;
    }
    const int code = api_.launch(loaded.functions[i], size(launch.grid[0]), size(launch.grid[1]),
                                 size(launch.grid[2]), size(launch.block[0]), size(launch.block[1]),
                                 size(launch.block[2]), size(launch.shared_bytes), stream_.get(),
                                 arguments.data(), nullptr);
    TW_RETURN_IF_ERROR(Check(code, "cuLaunchKernel").WithContext(launch.kernel));
  }
  return {};
}

Status CudaSession::Wait(double limit_seconds) {
  // Short kernels end before the first sleep; during a long one the core stays idle.
  constexpr double kBusySeconds = 2e-3, kSleepSeconds = 2e-4;
  SystemClock clock;
  const double start = clock.MonotonicSeconds();
  while (true) {
    const int code = api_.query_stream(stream_.get());
    if (code != TW_CUDA_NOT_READY) return Check(code, "the kernel");
    const double elapsed = clock.MonotonicSeconds() - start;
    if (elapsed > limit_seconds) {
      timed_out_ = true;
      return Unavailable("the device did not finish in time");
    }
    if (elapsed > kBusySeconds) clock.SleepSeconds(kSleepSeconds);
  }
}

/// Returns a graph of this many calls, ready to launch.
Result<CudaHandle> CudaSession::Record(const GridProgram& program, std::int64_t calls) {
  TW_RETURN_IF_ERROR(Check(api_.begin_capture(stream_.get(), TW_CUDA_CAPTURE_THREAD_LOCAL),
                           "cuStreamBeginCapture"));
  Status recorded;
  for (std::int64_t i = 0; i < calls && recorded.ok(); ++i) recorded = Enqueue(program);
  void* graph = nullptr;
  // Also after a failure: the stream must leave capture mode.
  const Status ended = Check(api_.end_capture(stream_.get(), &graph), "cuStreamEndCapture");
  const CudaHandle owned(graph, {api_.destroy_graph});
  TW_RETURN_IF_ERROR(recorded);
  TW_RETURN_IF_ERROR(ended);
  void* executable = nullptr;
  TW_RETURN_IF_ERROR(
      Check(api_.instantiate_graph(&executable, graph, 0), "cuGraphInstantiateWithFlags"));
  return CudaHandle(executable, {api_.destroy_executable});
}

/// Records the graph for Time, if one is used.
Status CudaSession::PrepareReplay(GridProgram& program, std::int64_t calls) {
  Code& loaded = CodeOf(program);
  if (loaded.replay != nullptr && loaded.replay_calls == calls) return {};
  loaded.replay.reset();
  if (calls <= 1 || !api_.has_graphs()) return {};
  TW_ASSIGN_OR_RETURN(loaded.replay, Record(program, calls));
  loaded.replay_calls = calls;
  return {};
}

Result<double> CudaSession::Time(GridProgram& program, std::int64_t calls, double limit_seconds) {
  TW_RETURN_IF_ERROR(PrepareReplay(program, calls));
  TW_RETURN_IF_ERROR(Check(api_.record_event(start_.get(), stream_.get()), "cuEventRecord"));
  if (void* replay = CodeOf(program).replay.get()) {
    TW_RETURN_IF_ERROR(Check(api_.launch_graph(replay, stream_.get()), "cuGraphLaunch"));
  } else {
    for (std::int64_t i = 0; i < calls; ++i) TW_RETURN_IF_ERROR(Enqueue(program));
  }
  TW_RETURN_IF_ERROR(Check(api_.record_event(end_.get(), stream_.get()), "cuEventRecord"));
  TW_RETURN_IF_ERROR(Wait(limit_seconds));
  float milliseconds = 0;
  TW_RETURN_IF_ERROR(Check(api_.event_milliseconds(&milliseconds, start_.get(), end_.get()),
                           "cuEventElapsedTime"));
  return static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace tilewright
