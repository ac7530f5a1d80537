#include "src/runtime/cuda_api.h"

#include <dlfcn.h>

namespace tilewright {
void CudaApi::Close::operator()(void* library) const { dlclose(library); }

Result<CudaApi> CudaApi::Open(const std::string& library) {
  CudaApi api;
  api.library_.reset(TwCudaLoad(library.c_str()));
  if (api.library_ == nullptr) {
    return NotFound(std::string("no ") + TwCudaMaker(library.c_str()) + " driver: " + library +
                    " cannot be loaded");
  }
  const char* missing = TwCudaBind(&api, api.library_.get());
  if (missing != nullptr) return Unavailable(library + ": too old: it has no " + missing);
  TW_RETURN_IF_ERROR(api.Check(api.init(0), "cuInit"));
  return api;
}

Status CudaApi::Check(int code, const char* call) const {
  if (code == 0) return {};
  const char* words = nullptr;
  if (error_string(code, &words) != 0 || words == nullptr) words = "unknown error";
  return Unavailable(std::string(TwCudaCall(this, call)) + ": " + words + " (" +
                     std::to_string(code) + ")");
}

GridFault CudaApi::FaultOf(int code) {
  switch (code) {
    case 700:  // illegal address
    case 702:  // time limit of the display driver
    case 710:  // assertion
    case 714:  // stack
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // address of the wrong space
    case 718:  // program counter
    case 719:  // "unspecified launch failure"
      return GridFault::kKernelFault;
    case 4:    // driver being unloaded
    case 46:   // device not available
    case 100:  // no device
    case 101:  // no such device
    case 214:  // uncorrectable memory error
    case 220:  // uncorrectable link error
    case 709:  // context destroyed
    case 802:  // system not ready
    case 999:  // unknown: returned for a device that fell off the bus
      return GridFault::kDeviceLost;
    default:
      return GridFault::kNone;
  }
}

}  // namespace tilewright
