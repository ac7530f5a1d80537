#pragma once

namespace tilewright::capi {

/// Coordination of fork() with threads that use catalogs. SQLite keeps the state of open files, and
/// its locks, in the memory of the process: a child that copies them mid-call would wait for a
/// thread that it does not have. So a fork waits until no thread is in a call, and all connections
/// are closed first. Parent and child reopen theirs at the next query.
///
/// The state is global to the process, as that of pthread_atfork.

/// Scope of a call: marks the thread as in a call for its lifetime. Does not block other calls;
/// waits while a fork runs. May be nested.
class CallScope {
 public:
  CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  ~CallScope();
};

/// Owner of connections. Created and destroyed within a call.
class ConnectionOwner {
 public:
  ConnectionOwner();
  ConnectionOwner(const ConnectionOwner&) = delete;
  ConnectionOwner& operator=(const ConnectionOwner&) = delete;
  virtual ~ConnectionOwner();
  /// Closes all connections; called before a fork, while no thread is in a call.
  virtual void CloseConnections() = 0;
};

}  // namespace tilewright::capi
