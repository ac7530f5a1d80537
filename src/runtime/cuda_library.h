#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/library_call.h"
#include "src/base/status.h"

namespace tilewright {

/// Call of a cuDNN or cuBLAS function that replaces a kernel.
struct CudaLibraryCall {
  std::string file;  ///< file name of the library; empty: no call
  std::string operation;
  std::vector<std::int64_t> shape;  ///< the fields of a TwLibraryShape, in order
  /// Positions of result, data and weight among the program's arguments.
  std::array<int, 3> operands = {};
  friend bool operator==(const CudaLibraryCall&, const CudaLibraryCall&) = default;
};
std::vector<std::int64_t> FieldsOf(const TwLibraryShape& shape);

/// Prepared call that can be repeated. It must be destroyed before its session.
class CudaFunction {
 public:
  virtual ~CudaFunction() = default;
  /// Enqueues the call on its stream; also during recording. Takes device addresses.
  /// Errors: kUnavailable with the library's code.
  virtual Status Enqueue(std::uint64_t result, std::uint64_t data, std::uint64_t weight) = 0;
};

/// Loads the library and, for a convolution, selects its fastest algorithm on the current context's
/// device. float32 is multiplied in full precision (no tf32). scratch: allocates memory that lives
/// as long as the function.
/// Errors: kInvalidArgument for a file that is not that of the library which has the operation
/// (LibraryOfFile): nothing else is loaded; kNotFound if the library is missing; kUnsupported, with
/// operation and code, if the library rejects the call.
using CudaScratch = std::function<Result<std::uint64_t>(std::size_t bytes)>;
Result<std::unique_ptr<CudaFunction>> PrepareCudaFunction(const CudaLibraryCall& call, void* stream,
                                                          const CudaScratch& scratch);

}  // namespace tilewright
