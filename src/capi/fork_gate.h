#pragma once

namespace tilewright::capi {

/// A process may be forked while its threads use catalogs. SQLite keeps what it knows of open
/// files, and its locks, in the memory of the process: a child that gets a copy of them half-way
/// would wait for a thread that it does not have. So a fork waits until no thread is in a call, and
/// every connection is closed first; parent and child open theirs again when they ask.
///
/// The state is the process's, as pthread_atfork's is.

/// A thread is in a call while it lives. Not waited for by other calls; waits while a fork is made.
/// May be nested.
class CallScope {
 public:
  CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  ~CallScope();
};

/// Something that has connections. Made and destroyed within a call.
class ConnectionOwner {
 public:
  ConnectionOwner();
  ConnectionOwner(const ConnectionOwner&) = delete;
  ConnectionOwner& operator=(const ConnectionOwner&) = delete;
  virtual ~ConnectionOwner();
  /// Closes them all; called before a fork, while no thread is in a call.
  virtual void CloseConnections() = 0;
};

}  // namespace tilewright::capi
