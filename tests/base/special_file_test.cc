#include "src/base/files/special_file.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "src/base/files/file.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

// Opening a named pipe without a writer must not block.
TEST(PlainFileTest, NothingIsWaitedFor) {
  const auto folder = ScopedTempDir::Create("tilewright-plain-file-test");
  ASSERT_TRUE(folder.ok());
  const std::string pipe = folder->path() + "/pipe", link = folder->path() + "/link";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  ASSERT_EQ(::symlink(pipe.c_str(), link.c_str()), 0);
  for (const std::string& path : {pipe, link}) {
    const auto read = ReadFile(path);
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(read.status().message(), path + ": is a named pipe, expected a file");
    EXPECT_EQ(CheckNotSpecialFile(path).message(), read.status().message());
  }
  EXPECT_EQ(ReadFile("/dev/zero").status().message(), "/dev/zero: is a device, expected a file");
  EXPECT_THAT(ReadFile(folder->path()).status().message(), HasSubstr("is a directory"));
  EXPECT_EQ(ReadFile(folder->path() + "/none").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(CheckNotSpecialFile(folder->path() + "/none").ok());

  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_GE(socket, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder->path() + "/socket";
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size());
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(ReadFile(path).status().message(), path + ": is a socket, expected a file");
  ::close(socket);
}

// The file that a shell passes for `<(…)`.
TEST(PlainFileTest, APipeWithoutANameIsReadToItsEnd) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "text", 4), 4);
  ::close(ends[1]);
  const auto read = ReadFile("/dev/fd/" + std::to_string(ends[0]));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, "text");
  ::close(ends[0]);
}

}  // namespace
}  // namespace tilewright
