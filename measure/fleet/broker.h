#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::measure::fleet {

/// A durable queue: messages of a subject, which a stream keeps until they are acknowledged, each
/// handed to one of those who ask, and to another one when nobody speaks for it for a while.
struct Queue {
  std::string stream;    ///< holds the queues of all jobs of a class
  std::string consumer;  ///< the queue's name in it
  std::string subject;
  friend auto operator<=>(const Queue&, const Queue&) = default;
};

/// Something that has come from the broker.
struct BrokerEvent {
  enum class Kind : std::uint8_t {
    kMessage,    ///< a message of a subject that was subscribed to
    kDelivered,  ///< a message of a queue, which is this one's to answer for
    kFetchDone,  ///< what was asked of a queue is over: it was empty, or the time is up
    kQueueInfo,  ///< how much a queue holds
    kObject,     ///< an object that was asked for
    kRejected,   ///< the broker did not take something, and says why in `payload`
  };
  Kind kind = Kind::kMessage;
  std::string subject;          ///< of kMessage and kDelivered; the name of kObject
  std::string payload;          ///< empty where an object is not there
  Queue queue;                  ///< of kFetchDone and kQueueInfo: `stream` and `consumer`
  std::string handle;           ///< of kDelivered: what Acknowledge takes
  std::int64_t deliveries = 0;  ///< of kDelivered: how often it was handed out, 1 at first
  std::int64_t waiting = 0;     ///< of kQueueInfo: not handed out
  std::int64_t out = 0;  ///< of kQueueInfo: handed out and not acknowledged; -1: no such queue
};

/// What becomes of a delivered message.
enum class AckType : std::uint8_t {
  kAck,         ///< it is never handed out again
  kNak,         ///< it is handed out again, at once
  kInProgress,  ///< whoever has it is at work: its time begins anew
};

/// What carries a fleet's messages: at most once what is said, at least once what is in queues.
/// Anything may be lost, doubled or late all the same; who uses it must not mind. One caller,
/// except for Wake.
class Broker {
 public:
  virtual ~Broker() = default;
  /// Seconds that a delivered message is nobody else's, without word of it.
  static constexpr double kLeaseSeconds = 4;
  /// No message is longer.
  static constexpr std::int64_t kMaxBytes = std::int64_t{1} << 20;

  /// Messages of subjects like this come out of Next: `*` stands for a word, `>` for all that
  /// follow. Errors: kUnavailable.
  virtual Status Subscribe(const std::string& pattern) = 0;
  virtual Status Unsubscribe(const std::string& pattern) = 0;
  /// Errors: kUnavailable if it is certain that nobody will get it.
  virtual Status Publish(const std::string& subject, std::string_view payload) = 0;

  /// Makes the queue unless it is there. Errors: kUnavailable; kUnsupported where this user may
  /// not.
  virtual Status OpenQueue(const Queue& queue) = 0;
  /// Removes it with all that is in it, as far as this user may.
  virtual void CloseQueue(const Queue& queue) = 0;
  virtual Status Enqueue(const Queue& queue, std::string_view payload) = 0;
  /// Asks for messages: up to `count` come as kDelivered; what is missing of them after `seconds`,
  /// or at once with 0, is over with a kFetchDone. One call at a time for each queue.
  virtual Status Fetch(const Queue& queue, int count, double seconds) = 0;
  virtual void Acknowledge(const std::string& handle, AckType verdict) = 0;
  /// Asks for a kQueueInfo.
  virtual void Count(const Queue& queue) = 0;

  /// Keeps bytes under a name for the time of a job, unless there are some already.
  virtual Status PutObject(const std::string& name, std::string_view bytes) = 0;
  /// Asks for a kObject.
  virtual Status GetObject(const std::string& name) = 0;

  /// What has come, in order; waits so long for something, or until Wake.
  virtual std::optional<BrokerEvent> Next(double seconds) = 0;
  /// Ends the wait of Next. From any thread.
  virtual void Wake() = 0;
  /// Whether a handle is one of this queue: what workers say is not believed.
  virtual bool IsOf(const std::string& handle, const Queue& queue) const = 0;
  /// False while the connection is lost; it is made again without being asked for.
  virtual bool connected() const = 0;
  /// How often the connection was made.
  virtual std::int64_t connections() const = 0;
  /// Writes what is buffered. Errors: kUnavailable.
  virtual Status Flush(double seconds) = 0;
};

}  // namespace tilewright::measure::fleet
