#pragma once

#include <memory>

#include "src/base/status.h"
#include "src/runtime/pool.h"

namespace tilewright {

/// Owner of a TwPool (src/runtime/pool.h).
class ThreadPool {
 public:
  /// threads: including the calling one.
  /// Errors: kInvalidArgument if threads is not positive; kUnavailable if they cannot be started.
  static Result<ThreadPool> Create(int threads, bool pin = true);
  /// Returns the third argument of a TwKernel.
  const TwParallel* parallel() const { return TwPoolParallel(pool_.get()); }
  int threads() const { return parallel()->threads; }

 private:
  struct Destroy {
    void operator()(TwPool* pool) const { TwPoolDestroy(pool); }
  };
  explicit ThreadPool(TwPool* pool) : pool_(pool) {}
  std::unique_ptr<TwPool, Destroy> pool_;
};

}  // namespace tilewright
