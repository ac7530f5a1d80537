#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/status.h"

namespace tilewright::measure::fleet {

/// Durable queue. A stream keeps the messages of one subject until they are acknowledged. The
/// broker delivers each message to one fetching client, and redelivers it to another client if the
/// lease expires.
struct Queue {
  std::string stream;    ///< stream with the queues of all jobs of a class
  std::string consumer;  ///< name of the queue in the stream
  std::string subject;
  friend auto operator<=>(const Queue&, const Queue&) = default;
};

/// Event that the broker sent to this client.
struct BrokerEvent {
  enum class Kind : std::uint8_t {
    kMessage,    ///< message of a subscribed subject
    kDelivered,  ///< message of a queue, leased to this client
    kFetchDone,  ///< a Fetch has ended: the queue was empty, or the time is up
    kQueueInfo,  ///< number of messages of a queue
    kObject,     ///< reply to GetObject
    kRejected,   ///< the broker rejected a request; `payload` holds the reason
  };
  Kind kind = Kind::kMessage;
  std::string subject;          ///< of kMessage and kDelivered; the object name of kObject
  std::string payload;          ///< empty if the object does not exist
  Queue queue;                  ///< of kFetchDone and kQueueInfo: `stream` and `consumer`
  std::string handle;           ///< of kDelivered: argument of Acknowledge
  std::int64_t deliveries = 0;  ///< of kDelivered: number of deliveries, 1 at first
  std::int64_t waiting = 0;     ///< of kQueueInfo: messages not delivered
  std::int64_t out = 0;  ///< of kQueueInfo: delivered and unacknowledged messages; -1: no such
                         ///< queue
};

/// Kind of acknowledgement of a delivered message.
enum class AckType : std::uint8_t {
  kAck,         ///< never redelivered
  kNak,         ///< redelivered at once
  kInProgress,  ///< work in progress: renews the lease
};

/// Message transport of a fleet. Publish is at-most-once; queues are at-least-once. Messages can be
/// lost, duplicated or delayed all the same; callers have to tolerate this. Not thread-safe, except
/// for Wake.
class Broker {
 public:
  virtual ~Broker() = default;
  /// Lease of a delivered message, in seconds, without a kInProgress.
  static constexpr double kLeaseSeconds = 4;
  /// Maximum size of a message, in bytes.
  static constexpr std::int64_t kMaxBytes = std::int64_t{1} << 20;

  /// Subscribes to subjects that match the pattern; Next returns their messages. `*` matches one
  /// word, `>` all the words that follow. Errors: kUnavailable.
  virtual Status Subscribe(const std::string& pattern) = 0;
  virtual Status Unsubscribe(const std::string& pattern) = 0;
  /// Publishes a message. Errors: kUnavailable if it certainly reaches no subscriber.
  virtual Status Publish(const std::string& subject, std::string_view payload) = 0;

  /// Creates the queue if it does not exist. Errors: kUnavailable; kUnsupported if this user lacks
  /// the permission.
  virtual Status OpenQueue(const Queue& queue) = 0;
  /// Removes the queue and its messages, as far as this user has the permission.
  virtual void CloseQueue(const Queue& queue) = 0;
  virtual Status Enqueue(const Queue& queue, std::string_view payload) = 0;
  /// Requests messages. Up to `count` arrive as kDelivered. If fewer arrive within `seconds` (0:
  /// are available at once), a kFetchDone ends the request. One outstanding call for each queue.
  virtual Status Fetch(const Queue& queue, int count, double seconds) = 0;
  virtual void Acknowledge(const std::string& handle, AckType verdict) = 0;
  /// Requests a kQueueInfo.
  virtual void Count(const Queue& queue) = 0;

  /// Stores bytes under a name for the duration of a job, unless the name exists.
  virtual Status PutObject(const std::string& name, std::string_view bytes) = 0;
  /// Requests a kObject.
  virtual Status GetObject(const std::string& name) = 0;

  /// Returns the next event in order of arrival. Blocks until there is one, `seconds` have passed,
  /// or Wake is called.
  virtual std::optional<BrokerEvent> Next(double seconds) = 0;
  /// Ends the wait of Next. Thread-safe.
  virtual void Wake() = 0;
  /// Returns whether a handle belongs to this queue. Handles come from workers, which are not
  /// trusted.
  virtual bool IsOf(const std::string& handle, const Queue& queue) const = 0;
  /// Returns false while the connection is lost. The broker reconnects automatically.
  virtual bool connected() const = 0;
  /// Returns the number of times the connection was established.
  virtual std::int64_t connections() const = 0;
  /// Writes buffered messages. Errors: kUnavailable.
  virtual Status Flush(double seconds) = 0;
};

}  // namespace tilewright::measure::fleet
