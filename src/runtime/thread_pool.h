#pragma once

#include <memory>

#include "src/base/status.h"
#include "src/runtime/pool.h"

namespace tilewright {

/// A TwPool (src/runtime/pool.h) that ends with its owner.
class ThreadPool {
 public:
  /// threads: the calling one included.
  /// Errors: kInvalidArgument if threads is not positive; kUnavailable if they cannot be started.
  static Result<ThreadPool> Create(int threads, bool pin = true);
  /// For the third argument of a TwKernel.
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
