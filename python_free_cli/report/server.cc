// The page of a running job over HTTP, by cpp-httplib where the program was built with it.

#include "python_free_cli/report/server.h"

#include <sodium.h>

#include <array>
#include <atomic>
#include <thread>

#include "src/base/clock.h"
#include "src/base/thread.h"
#ifdef TILEWRIGHT_HTTPLIB
#include <httplib.h>
#endif

namespace tilewright::report {

bool SameSecret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

#ifdef TILEWRIGHT_HTTPLIB

namespace {

constexpr double kReaderSeconds = 8;  // a page asks every two, or waits five after an error
constexpr double kLastLookSeconds = 4;

std::string MakeToken() {
  std::array<unsigned char, 24> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), kVariant);
  text.pop_back();  // the terminating zero
  return text;
}

}  // namespace

struct WatchServer::Impl {
  Pages pages;
  std::string token, address;
  httplib::Server server;
  std::thread thread;
  SystemClock clock;
  std::atomic<double> last_asked{-1e9};
  std::atomic<std::int64_t> asked{0};

  void Answer(const httplib::Request& request, const char* type,
              const std::function<Result<std::string>()>& make, httplib::Response& response) {
    response.set_header("Cache-Control", "no-store");
    response.set_header("Referrer-Policy", "no-referrer");
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Cross-Origin-Resource-Policy", "same-origin");
    if (!SameSecret(request.get_param_value("token"), token)) {
      response.status = 403;
      response.set_content("the address lacks its token\n", "text/plain");
      return;
    }
    const auto text = make();
    if (!text.ok()) {
      response.status = 503;
      response.set_content(text.status().message() + "\n", "text/plain; charset=utf-8");
      return;
    }
    response.set_content(*text, type);
    last_asked = clock.MonotonicSeconds();
    ++asked;
  }
};

Result<WatchServer> WatchServer::Start(Pages pages, int port) {
  if (sodium_init() < 0) return Internal("libsodium does not start");
  auto impl = std::make_unique<Impl>();
  impl->pages = std::move(pages);
  impl->token = MakeToken();
  httplib::Server& server = impl->server;
  // One at a time: what answers reads the store while candidates are timed.
  server.new_task_queue = [] { return new httplib::ThreadPool(1); };
  server.set_payload_max_length(4096);
  server.set_keep_alive_max_count(1);  // a connection that is kept would keep others waiting
  server.set_read_timeout(2, 0);
  Impl* const self = impl.get();
  server.Get("/", [self](const httplib::Request& request, httplib::Response& response) {
    self->Answer(request, "text/html; charset=utf-8", self->pages.page, response);
  });
  server.Get("/data.json", [self](const httplib::Request& request, httplib::Response& response) {
    self->Answer(request, "application/json", self->pages.data, response);
  });
  if (port == 0) {
    port = server.bind_to_any_port("127.0.0.1");
  } else if (!server.bind_to_port("127.0.0.1", port)) {
    port = -1;
  }
  if (port < 0) return Unavailable("--watch: the port on 127.0.0.1 is taken");
  impl->address = "http://127.0.0.1:" + std::to_string(port) + "/?token=" + impl->token;
  auto thread = StartThread([self] { self->server.listen_after_bind(); });
  TW_RETURN_IF_ERROR(thread);
  impl->thread = *std::move(thread);
  return WatchServer(std::move(impl));
}

void WatchServer::WaitForLastLook() {
  Impl& impl = *impl_;
  const double start = impl.clock.MonotonicSeconds();
  if (start - impl.last_asked > kReaderSeconds) return;
  const std::int64_t before = impl.asked;
  while (impl.asked == before && impl.clock.MonotonicSeconds() - start < kLastLookSeconds) {
    impl.clock.SleepSeconds(0.05);
  }
  impl.clock.SleepSeconds(0.1);  // its answer is on the way
}

WatchServer::~WatchServer() {
  if (impl_ == nullptr) return;
  impl_->server.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}
const std::string& WatchServer::address() const { return impl_->address; }

#else

struct WatchServer::Impl {
  std::string address;
};

Result<WatchServer> WatchServer::Start(Pages /*pages*/, int /*port*/) {
  return Unsupported(
      "--watch: this program was built without cpp-httplib; install Debian's libcpp-httplib-dev "
      "and build again");
}
void WatchServer::WaitForLastLook() {}
WatchServer::~WatchServer() = default;
const std::string& WatchServer::address() const { return impl_->address; }

#endif

WatchServer::WatchServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WatchServer::WatchServer(WatchServer&&) noexcept = default;
WatchServer& WatchServer::operator=(WatchServer&&) noexcept = default;

}  // namespace tilewright::report
