#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/base/status.h"

namespace tilewright {

/// What a code of the driver means for the process that got it. From kKernelFault on nothing in
/// this process's context works any more (NVIDIA calls such errors sticky): the process must end.
enum class CudaFault : std::uint8_t {
  kNone,         ///< success, or an error of the one call
  kKernelFault,  ///< the kernel did something illegal: bad address, bad instruction, …
  kDeviceLost,   ///< the device or its driver failed, whatever ran
};

/// The functions of the CUDA driver that are called here, found at run time: nothing of CUDA is
/// needed to build or to start the program. All return the driver's code, 0 for success.
class CudaApi {
 public:
  static constexpr const char* kLibrary = "libcuda.so.1";
  static constexpr int kNotReady = 600;

  /// Loads and initializes the driver. library: a name the loader looks for, or a path.
  /// Errors: kNotFound if there is none; kUnavailable if it lacks functions or does not work.
  static Result<CudaApi> Open(const std::string& library = kLibrary);

  /// Errors: kUnavailable with the call, the driver's words and the code.
  Status Check(int code, const char* call) const;
  static CudaFault FaultOf(int code);
  /// Launches can be recorded once and replayed as a whole (drivers from 11.4 on).
  bool has_graphs() const { return instantiate_graph != nullptr && launch_graph != nullptr; }

  // --- devices ---
  int (*driver_version)(int*) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*get_device)(int*, int ordinal) = nullptr;
  int (*device_name)(char*, int length, int device) = nullptr;
  int (*device_attribute)(int*, int attribute, int device) = nullptr;
  int (*device_memory)(std::size_t*, int device) = nullptr;
  int (*device_bus_id)(char*, int length, int device) = nullptr;
  // --- contexts, modules, memory ---
  int (*retain_context)(void** context, int device) = nullptr;
  int (*release_context)(int device) = nullptr;
  int (*set_context)(void* context) = nullptr;
  int (*load_module)(void** module, const void* image, unsigned options, int* keys,
                     void** values) = nullptr;
  int (*unload_module)(void* module) = nullptr;
  int (*get_function)(void** function, void* module, const char* name) = nullptr;
  int (*allocate)(std::uint64_t* address, std::size_t bytes) = nullptr;
  int (*release)(std::uint64_t address) = nullptr;
  int (*copy_to_device)(std::uint64_t to, const void* from, std::size_t bytes) = nullptr;
  int (*copy_to_host)(void* to, std::uint64_t from, std::size_t bytes) = nullptr;
  int (*fill)(std::uint64_t address, unsigned char value, std::size_t bytes,
              void* stream) = nullptr;
  // --- execution ---
  int (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream,
                void** arguments, void** extra) = nullptr;
  int (*create_stream)(void** stream, unsigned flags) = nullptr;
  int (*destroy_stream)(void* stream) = nullptr;
  int (*query_stream)(void* stream) = nullptr;
  int (*create_event)(void** event, unsigned flags) = nullptr;
  int (*destroy_event)(void* event) = nullptr;
  int (*record_event)(void* event, void* stream) = nullptr;
  int (*event_milliseconds)(float*, void* start, void* end) = nullptr;
  // --- graphs: null in old drivers ---
  int (*begin_capture)(void* stream, int mode) = nullptr;
  int (*end_capture)(void* stream, void** graph) = nullptr;
  int (*instantiate_graph)(void** executable, void* graph, unsigned long long flags) = nullptr;
  int (*launch_graph)(void* executable, void* stream) = nullptr;
  int (*destroy_executable)(void* executable) = nullptr;
  int (*destroy_graph)(void* graph) = nullptr;

 private:
  struct Close {
    void operator()(void* library) const;
  };
  /// Errors: kUnavailable naming the function that is missing.
  Status BindAll();
  std::unique_ptr<void, Close> library_;
  int (*init_)(unsigned) = nullptr;
  int (*error_string_)(int, const char**) = nullptr;
};

}  // namespace tilewright
