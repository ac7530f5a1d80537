// NATS JetStream by the C library. Frequent requests (fetch, acknowledge, count) are published on
// their own subjects with replies to one inbox, so that no call blocks. Rare requests (streams,
// consumers) use the library's calls. The library's threads append all incoming messages to one
// list, and Next takes them out.

#include <nats/nats.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "measure/fleet/connect.h"
#include "measure/fleet/inbox.h"
#include "measure/fleet/keys.h"
#include "measure/fleet/subjects.h"
#include "src/base/hash.h"
#include "src/base/json.h"
#include "src/base/strings.h"

namespace tilewright::measure::fleet {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

Status Failed(const std::string& what, natsStatus status) {
  const char* last = nats_GetLastError(nullptr);
  std::string text = what + ": " + natsStatus_GetText(status);
  if (last != nullptr && *last != '\0') text += " (" + std::string(last) + ")";
  const bool forbidden = status == NATS_NOT_PERMITTED;
  return forbidden ? Unsupported(std::move(text)) : Unavailable(std::move(text));
}

/// Converts a JetStream error: a status, a code and the server's message.
Status Refused(const std::string& what, natsStatus status, jsErrCode code) {
  // The server does not reply to forbidden requests.
  const bool forbidden = status == NATS_TIMEOUT || status == NATS_NOT_PERMITTED;
  Status failed = Failed(what, status);
  if (!forbidden) {
    return code != 0 ? failed.WithContext("JetStream error " + std::to_string(code)) : failed;
  }
  return Unsupported(failed.message() +
                     "; does the server have JetStream, and may this user do that?");
}

std::string HeaderOf(natsMsg* message, const char* name) {
  const char* value = nullptr;
  if (natsMsgHeader_Get(message, name, &value) != NATS_OK || value == nullptr) return {};
  return value;
}

class NatsBroker final : public Broker {
 public:
  explicit NatsBroker(std::function<void(const std::string&)> on_note)
      : on_note_(std::move(on_note)) {}
  ~NatsBroker() override;
  Status Open(const Address& address, const std::string& client);

  Status Subscribe(const std::string& pattern) override;
  Status Unsubscribe(const std::string& pattern) override;
  Status Publish(const std::string& subject, std::string_view payload) override;
  Status OpenQueue(const Queue& queue) override;
  void CloseQueue(const Queue& queue) override;
  Status Enqueue(const Queue& queue, std::string_view payload) override;
  Status Fetch(const Queue& queue, int count, double seconds) override;
  void Acknowledge(const std::string& handle, AckType verdict) override;
  void Count(const Queue& queue) override;
  Status PutObject(const std::string& name, std::string_view bytes) override;
  Status GetObject(const std::string& name) override;
  std::optional<BrokerEvent> Next(double seconds) override;
  void Wake() override { inbox_.Wake(); }
  bool IsOf(const std::string& handle, const Queue& queue) const override {
    return handle.starts_with("$JS.ACK." + queue.stream + "." + queue.consumer + ".");
  }
  bool connected() const override { return inbox_.connected(); }
  std::int64_t connections() const override { return inbox_.connections(); }
  Status Flush(double seconds) override;

 private:
  static void OnMessage(natsConnection*, natsSubscription*, natsMsg* message, void* self) {
    static_cast<NatsBroker*>(self)->Take(message);
    natsMsg_Destroy(message);
  }
  static void OnCompleted(void* self) { static_cast<NatsBroker*>(self)->inbox_.Completed(); }
  static void OnLost(natsConnection*, void* self) {
    static_cast<NatsBroker*>(self)->inbox_.SetConnected(false);
  }
  static void OnFound(natsConnection*, void* self) {
    static_cast<NatsBroker*>(self)->inbox_.SetConnected(true);
  }
  /// Last callback of the library for a connection.
  static void OnClosed(natsConnection*, void* self) {
    static_cast<NatsBroker*>(self)->inbox_.Completed();
  }
  static void OnError(natsConnection* connection, natsSubscription*, natsStatus status,
                      void* self) {
    char text[512] = "";
    const char* last = nullptr;
    if (natsConnection_GetLastError(connection, &last) != NATS_OK && last != nullptr) {
      std::snprintf(text, sizeof(text), "%s", last);
    }
    BrokerEvent refused;
    refused.kind = BrokerEvent::Kind::kRejected;
    refused.payload = *text != '\0' ? text : natsStatus_GetText(status);
    static_cast<NatsBroker*>(self)->inbox_.Put(std::move(refused));
  }

  void Take(natsMsg* message);
  void TakeAnswer(natsMsg* message, const std::string& subject, std::string payload);
  Status PendingFetch(const std::string& subject, const std::string& kind,
                      std::string_view payload);
  Status OpenStream(const std::string& name, const std::string& subject, bool queue);
  /// Returns the number of stream replicas: three if the connection knows that many servers.
  std::int64_t Replicas() const;
  /// Raises the replicas of a stream from a smaller cluster, as far as this user has the
  /// permission.
  void Spread(const jsStreamInfo& stream);
  Queue QueueNumbered(const std::string& number, bool fetched);

  std::function<void(const std::string&)> on_note_;
  Inbox inbox_;
  std::string inbox_subject_;
  natsOptions* options_ = nullptr;
  natsConnection* connection_ = nullptr;
  jsCtx* jetstream_ = nullptr;
  bool may_all_ = false;  // the server has no user keys, or this is the administrator's
  std::map<std::string, natsSubscription*> subscriptions_;
  std::size_t completing_ = 0;

  std::mutex numbers_mutex_;
  std::vector<Queue> numbered_;             // queues of sent requests
  std::map<Queue, std::uint64_t> fetches_;  // the last one of each queue
  std::map<std::uint64_t, std::string> objects_;
  std::uint64_t next_ = 1;
};

NatsBroker::~NatsBroker() {
  if (connection_ != nullptr) {
    // A thread of the library reports the lost connection afterwards. It has to find this object,
    // or it blocks, and with it all connections of this process.
    natsConnection_Close(connection_);
    inbox_.WaitForCompleted(completing_ + 1);
  }
  for (auto& [pattern, subscription] : subscriptions_) natsSubscription_Destroy(subscription);
  jsCtx_Destroy(jetstream_);
  natsConnection_Destroy(connection_);
  natsOptions_Destroy(options_);
}

Status NatsBroker::Open(const Address& address, const std::string& client) {
  natsStatus status = natsOptions_Create(&options_);
  const auto set = [&](natsStatus next) {
    if (status == NATS_OK) status = next;
  };
  constexpr int kReconnectMilliseconds = 200, kPingMilliseconds = 2000, kBuffer = 16 << 20;
  const std::string inbox = "_INBOX." + address.user;
  std::vector<std::string> urls = Split(address.url, ',');
  std::vector<const char*> servers;
  for (const std::string& url : urls) servers.push_back(url.c_str());
  set(natsOptions_SetServers(options_, servers.data(), static_cast<int>(servers.size())));
  set(natsOptions_SetName(options_, client.c_str()));
  set(natsOptions_SetMaxReconnect(options_, -1));
  set(natsOptions_SetReconnectWait(options_, kReconnectMilliseconds));
  set(natsOptions_SetReconnectBufSize(options_, kBuffer));
  set(natsOptions_SetPingInterval(options_, kPingMilliseconds));
  set(natsOptions_SetMaxPingsOut(options_, 2));
  set(natsOptions_SetCustomInboxPrefix(options_, inbox.c_str()));
  set(natsOptions_UseGlobalMessageDelivery(options_, true));
  set(natsOptions_SetDisconnectedCB(options_, &OnLost, this));
  set(natsOptions_SetReconnectedCB(options_, &OnFound, this));
  set(natsOptions_SetClosedCB(options_, &OnClosed, this));
  set(natsOptions_SetErrorHandler(options_, &OnError, this));
  if (!address.ca_file.empty()) {
    set(natsOptions_SetSecure(options_, true));
    set(natsOptions_LoadCATrustedCertificates(options_, address.ca_file.c_str()));
  }
  if (!address.seed_file.empty()) {
    TW_ASSIGN_OR_RETURN(auto key, PublicKeyOfSeedFile(address.seed_file));
    set(natsOptions_SetNKeyFromSeed(options_, key.c_str(), address.seed_file.c_str()));
  }
  may_all_ = address.seed_file.empty() || address.user == "admin";
  if (status != NATS_OK) return Failed("fleet " + address.url, status);
  status = natsConnection_Connect(&connection_, options_);
  if (status != NATS_OK) {
    return Failed("fleet " + address.url, status)
        .WithContext("no connection (is nats-server up, and the address right?)");
  }
  set(natsConnection_JetStream(&jetstream_, connection_, nullptr));
  if (status != NATS_OK) return Failed("fleet " + address.url, status);
  char* made = nullptr;
  status = natsInbox_Create(&made);
  if (status != NATS_OK) return Failed("creating an inbox", status);
  std::string random = made;
  natsInbox_Destroy(made);
  inbox_subject_ = inbox + "." + random.substr(random.rfind('.') + 1);
  TW_RETURN_IF_ERROR(Subscribe(inbox_subject_ + ".>"));
  return Flush(10);
}

Status NatsBroker::Subscribe(const std::string& pattern) {
  if (subscriptions_.contains(pattern)) return {};
  natsSubscription* subscription = nullptr;
  natsStatus status =
      natsConnection_Subscribe(&subscription, connection_, pattern.c_str(), &OnMessage, this);
  if (status != NATS_OK) return Failed(pattern, status);
  // No limit on pending messages: a tuner that was paused has a backlog to read.
  (void)natsSubscription_SetPendingLimits(subscription, -1, -1);
  if (natsSubscription_SetOnCompleteCB(subscription, &OnCompleted, this) == NATS_OK) ++completing_;
  subscriptions_[pattern] = subscription;
  return {};
}

Status NatsBroker::Unsubscribe(const std::string& pattern) {
  const auto found = subscriptions_.find(pattern);
  if (found == subscriptions_.end()) return {};
  (void)natsSubscription_Unsubscribe(found->second);
  natsSubscription_Destroy(found->second);
  subscriptions_.erase(found);
  return {};
}

Status NatsBroker::Publish(const std::string& subject, std::string_view payload) {
  const natsStatus status = natsConnection_Publish(connection_, subject.c_str(), payload.data(),
                                                   static_cast<int>(payload.size()));
  return status == NATS_OK ? Status() : Failed(subject, status);
}

Status NatsBroker::PendingFetch(const std::string& subject, const std::string& kind,
                                std::string_view payload) {
  const std::string answer = inbox_subject_ + "." + kind;
  const natsStatus status =
      natsConnection_PublishRequest(connection_, subject.c_str(), answer.c_str(), payload.data(),
                                    static_cast<int>(payload.size()));
  return status == NATS_OK ? Status() : Failed(subject, status);
}

std::int64_t NatsBroker::Replicas() const {
  char** servers = nullptr;
  int count = 0;
  if (natsConnection_GetServers(connection_, &servers, &count) != NATS_OK) return 1;
  for (int i = 0; i < count; ++i) std::free(servers[i]);  // NOLINT: the library's
  std::free(servers);                                     // NOLINT
  constexpr int kCopies = 3;
  return count >= kCopies ? kCopies : 1;
}

void NatsBroker::Spread(const jsStreamInfo& stream) {
  const std::int64_t replicas = Replicas();
  if (!may_all_ || stream.Config->Replicas >= replicas) return;
  stream.Config->Replicas = replicas;
  jsStreamInfo* info = nullptr;
  // Best effort: the stream works with fewer replicas, too.
  (void)js_UpdateStream(&info, jetstream_, stream.Config, nullptr, nullptr);
  jsStreamInfo_Destroy(info);
}

Status NatsBroker::OpenStream(const std::string& name, const std::string& subject, bool queue) {
  jsStreamInfo* info = nullptr;
  jsErrCode code = static_cast<jsErrCode>(0);
  natsStatus status = js_GetStreamInfo(&info, jetstream_, name.c_str(), nullptr, &code);
  if (status == NATS_OK) Spread(*info);
  jsStreamInfo_Destroy(info);
  if (status == NATS_OK) return {};
  constexpr const char* kOpen =
      "; the fleet's operator creates it with `tilewright fleet open CLASS`";
  if (status != NATS_NOT_FOUND) {
    const Status refused = Refused("stream " + name, status, code);
    return {refused.code(), refused.message() + kOpen};
  }
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  std::array<const char*, 1> subjects = {subject.c_str()};
  constexpr std::int64_t kDay = 24 * 3600 * kNanoseconds;
  config.Name = name.c_str();
  config.Subjects = subjects.data();
  config.SubjectsLen = 1;
  config.Retention = queue ? js_WorkQueuePolicy : js_LimitsPolicy;
  config.Storage = js_FileStorage;
  config.MaxAge = kDay;
  config.MaxMsgSize = static_cast<std::int32_t>(kMaxBytes);
  if (!queue) config.MaxMsgsPerSubject = 1;
  config.AllowDirect = !queue;
  config.Replicas = Replicas();
  const auto add = [&] {
    info = nullptr;
    status = js_AddStream(&info, jetstream_, &config, nullptr, &code);
    jsStreamInfo_Destroy(info);
  };
  add();
  // The addresses may belong to one server, to servers without a cluster, or to servers that are
  // not up yet.
  if (status != NATS_OK && status != NATS_NOT_PERMITTED && config.Replicas > 1) {
    config.Replicas = 1;
    add();
  }
  if (status == NATS_OK) return {};
  const Status refused = Refused("creating the stream " + name, status, code);
  return {refused.code(), refused.message() + kOpen};
}

Status NatsBroker::OpenQueue(const Queue& queue) {
  const std::string all = queue.subject.substr(0, queue.subject.rfind('.')) + ".>";
  TW_RETURN_IF_ERROR(OpenStream(queue.stream, all, /*queue=*/true));
  if (queue.stream.starts_with(kBuildStreams)) {
    TW_RETURN_IF_ERROR(OpenStream(kArtifactStream, "tw.artifact.>", /*queue=*/false));
  }
  // The request's subject contains the filter, so that permissions can be granted by it. The
  // library's call does not put it there.
  constexpr std::int64_t kMaxOut = 65536, kMaxAsking = 16384, kInactive = 3600 * kNanoseconds;
  const Json config = {{"durable_name", queue.consumer},
                       {"name", queue.consumer},
                       {"deliver_policy", "all"},
                       {"ack_policy", "explicit"},
                       {"replay_policy", "instant"},
                       {"ack_wait", static_cast<std::int64_t>(kLeaseSeconds * 1e9)},
                       {"max_deliver", -1},
                       {"max_ack_pending", kMaxOut},
                       {"max_waiting", kMaxAsking},
                       {"inactive_threshold", kInactive},
                       {"filter_subject", queue.subject}};
  const std::string request = DumpJson(Json{{"stream_name", queue.stream}, {"config", config}});
  const std::string subject =
      "$JS.API.CONSUMER.CREATE." + queue.stream + "." + queue.consumer + "." + queue.subject;
  constexpr std::int64_t kMilliseconds = 5000;
  natsMsg* answer = nullptr;
  const natsStatus status = natsConnection_RequestString(&answer, connection_, subject.c_str(),
                                                         request.c_str(), kMilliseconds);
  const std::string what = "creating the queue " + queue.consumer;
  if (status != NATS_OK) return Refused(what, status, static_cast<jsErrCode>(0));
  const auto json =
      ParseJson({natsMsg_GetData(answer), static_cast<std::size_t>(natsMsg_GetDataLength(answer))});
  natsMsg_Destroy(answer);
  if (!json.ok() || !json->is_object())
    return Unavailable(what + ": the server's reply is not JSON");
  if (!json->contains("error")) return {};
  return Unavailable(what + ": " + DumpJson((*json)["error"]).substr(0, 300));
}

void NatsBroker::CloseQueue(const Queue& queue) {
  // The server rejects the request if this user lacks the permission. Nothing waits for it, because
  // the queue also expires by itself.
  const std::string purge = DumpJson(Json{{"filter", queue.subject}});
  (void)PendingFetch("$JS.API.STREAM.PURGE." + queue.stream, "x", purge);
  (void)PendingFetch("$JS.API.CONSUMER.DELETE." + queue.stream + "." + queue.consumer, "x", "");
}

Status NatsBroker::Enqueue(const Queue& queue, std::string_view payload) {
  return PendingFetch(queue.subject, "p", payload);
}

Status NatsBroker::Fetch(const Queue& queue, int count, double seconds) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(numbers_mutex_);
    number = fetches_[queue] = next_++;
  }
  const auto nanoseconds = static_cast<std::int64_t>(seconds * 1e9);
  Json ask = {{"batch", count}};
  if (seconds > 0) {
    ask["expires"] = nanoseconds;
  } else {
    ask["no_wait"] = true;
  }
  return PendingFetch("$JS.API.CONSUMER.MSG.NEXT." + queue.stream + "." + queue.consumer,
                      "f." + std::to_string(number), DumpJson(ask));
}

void NatsBroker::Acknowledge(const std::string& handle, AckType verdict) {
  constexpr std::array<const char*, 3> kWords = {"+ACK", "-NAK", "+WPI"};
  (void)natsConnection_PublishString(connection_, handle.c_str(),
                                     kWords[static_cast<std::size_t>(verdict)]);
}

void NatsBroker::Count(const Queue& queue) {
  std::size_t number = 0;
  {
    const std::lock_guard lock(numbers_mutex_);
    const auto found = std::ranges::find(numbered_, queue);
    number = static_cast<std::size_t>(found - numbered_.begin());
    if (found == numbered_.end()) numbered_.push_back(queue);
  }
  (void)PendingFetch("$JS.API.CONSUMER.INFO." + queue.stream + "." + queue.consumer,
                     "i." + std::to_string(number), "");
}

Status NatsBroker::PutObject(const std::string& name, std::string_view bytes) {
  return PendingFetch(name, "p", bytes);
}

Status NatsBroker::GetObject(const std::string& name) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(numbers_mutex_);
    number = next_++;
    objects_[number] = name;
  }
  return PendingFetch("$JS.API.DIRECT.GET." + std::string(kArtifactStream) + "." + name,
                      "o." + std::to_string(number), "");
}

std::optional<BrokerEvent> NatsBroker::Next(double seconds) { return inbox_.Next(seconds); }

Status NatsBroker::Flush(double seconds) {
  const natsStatus status =
      natsConnection_FlushTimeout(connection_, static_cast<std::int64_t>(seconds * 1e3));
  return status == NATS_OK ? Status() : Failed("the broker", status);
}

void NatsBroker::Take(natsMsg* message) {
  const std::string subject = natsMsg_GetSubject(message);
  std::string payload;
  if (natsMsg_GetDataLength(message) > 0) {
    payload.assign(natsMsg_GetData(message),
                   static_cast<std::size_t>(natsMsg_GetDataLength(message)));
  }
  if (static_cast<std::int64_t>(payload.size()) > kMaxBytes) return;
  if (subject.starts_with(inbox_subject_)) return TakeAnswer(message, subject, std::move(payload));
  BrokerEvent incoming;
  incoming.subject = subject;
  incoming.payload = std::move(payload);
  const char* reply = natsMsg_GetReply(message);
  if (reply != nullptr && std::string_view(reply).starts_with("$JS.ACK.")) {
    // $JS.ACK.stream.consumer.deliveries.sequence.…
    incoming.kind = BrokerEvent::Kind::kDelivered;
    incoming.handle = reply;
    incoming.queue.stream = SubjectToken(reply, 2);
    incoming.queue.consumer = SubjectToken(reply, 3);
    incoming.deliveries =
        ParseInt64(SubjectToken(reply, 4)).ok() ? *ParseInt64(SubjectToken(reply, 4)) : 1;
  }
  inbox_.Put(std::move(incoming));
}

Queue NatsBroker::QueueNumbered(const std::string& number, bool fetched) {
  const auto parsed = ParseInt64(number);
  if (!parsed.ok()) return {};
  const std::lock_guard lock(numbers_mutex_);
  const auto which = static_cast<std::uint64_t>(*parsed);
  if (!fetched) return which < numbered_.size() ? numbered_[which] : Queue{};
  for (const auto& [queue, last] : fetches_) {
    if (last == which) return queue;
  }
  return {};
}

void NatsBroker::TakeAnswer(natsMsg* message, const std::string& subject, std::string payload) {
  const std::string_view rest = std::string_view(subject).substr(inbox_subject_.size() + 1);
  const std::string_view kind = SubjectToken(rest, 0);
  const std::string number(SubjectToken(rest, 1));
  const std::string code = HeaderOf(message, "Status");
  BrokerEvent incoming;
  if (kind == "f") {
    if (code.empty() || code == "100") return;
    incoming.kind = BrokerEvent::Kind::kFetchDone;
    incoming.queue = QueueNumbered(number, /*fetched=*/true);
    if (incoming.queue.stream.empty()) return;  // of an earlier fetch
  } else if (kind == "i") {
    incoming.kind = BrokerEvent::Kind::kQueueInfo;
    incoming.queue = QueueNumbered(number, /*fetched=*/false);
    const auto json = ParseJson(payload);
    if (!json.ok() || !json->is_object()) return;
    if (json->contains("error")) {
      // The queue counts as gone only if the server reports that it does not exist.
      const Json& error = (*json)["error"];
      if (error.value("code", 0) != 404) return;
      incoming.out = -1;
    } else {
      incoming.waiting = json->value("num_pending", std::int64_t{0});
      incoming.out = json->value("num_ack_pending", std::int64_t{0});
    }
  } else if (kind == "o") {
    incoming.kind = BrokerEvent::Kind::kObject;
    const auto parsed = ParseInt64(number);
    const std::lock_guard lock(numbers_mutex_);
    const auto found = objects_.find(parsed.ok() ? static_cast<std::uint64_t>(*parsed) : 0);
    if (found == objects_.end()) return;
    incoming.subject = found->second;
    objects_.erase(found);
    if (code.empty()) incoming.payload = std::move(payload);
  } else if (kind == "x") {
    return;
  } else {
    incoming.kind = BrokerEvent::Kind::kRejected;
    incoming.payload = "a message was not accepted: no stream for it";
    if (code.empty()) {
      const auto json = ParseJson(payload);
      if (json.ok() && json->is_object() && !json->contains("error")) return;
      incoming.payload = "a message was not accepted: " + payload.substr(0, 300);
    }
  }
  inbox_.Put(std::move(incoming));
}

}  // namespace

bool IsNatsBuiltIn() { return true; }

Result<std::unique_ptr<Broker>> Connect(const Address& address, const std::string& client,
                                        std::function<void(const std::string&)> on_note) {
  TW_RETURN_IF_ERROR(CheckName("the user of the fleet", address.user));
  auto broker = std::make_unique<NatsBroker>(std::move(on_note));
  TW_RETURN_IF_ERROR(broker->Open(address, client));
  return std::unique_ptr<Broker>(std::move(broker));
}

}  // namespace tilewright::measure::fleet
