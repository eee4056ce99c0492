#include "ingest/protocol/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ingest/protocol/ring.h"
#include "storage/base/check.h"

namespace nvmdb::ingest::protocol {
namespace {

Status system_error(const char* what) {
  return Status::io_error(std::string(what) + ": " + std::strerror(errno));
}

/// Room for one descriptor, aligned as the kernel wants it.
union ControlBuffer {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

FileDescriptor take_descriptor(msghdr& message) {
  cmsghdr* control = CMSG_FIRSTHDR(&message);
  if (control == nullptr || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) return {};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(control), sizeof(fd));
  return FileDescriptor(fd);
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int FileDescriptor::release() {
  return std::exchange(fd_, -1);
}

Channel::Channel(FileDescriptor socket)
    : socket_(std::move(socket)), buffer_(std::make_unique<std::byte[]>(kPacketBytesMax)) {}

Result<std::pair<FileDescriptor, FileDescriptor>> Channel::make_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return system_error("socketpair");
  return std::pair(FileDescriptor(ends[0]), FileDescriptor(ends[1]));
}

Status Channel::send(ByteSpan packet, bool wait, int fd) {
  NVMDB_CHECK(packet.size() <= kPacketBytesMax, "packet of " + std::to_string(packet.size()) + " bytes");
  // The interface of sendmsg lacks a const; it does not write.
  iovec part{const_cast<std::byte*>(packet.data()), packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBuffer control{};
  if (fd >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fd));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  }
  while (::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT)) < 0) {
    if (errno != EINTR) return system_error("cannot send to the other process");
  }
  return Status::ok();
}

Result<Channel::Packet> Channel::receive(int timeout_ms, bool accept_descriptor) {
  if (timeout_ms >= 0) {
    pollfd waited{socket_.get(), POLLIN, 0};
    int ready = 0;
    do {
      ready = ::poll(&waited, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready < 0) return system_error("poll");
    if (ready == 0)
      return Status::deadline_exceeded("nothing came within " + std::to_string(timeout_ms) + " ms");
  }
  iovec part{buffer_.get(), kPacketBytesMax};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ControlBuffer control{};
  if (accept_descriptor) {
    message.msg_control = &control;
    message.msg_controllen = sizeof(control);
  }
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == ECONNRESET) return Status::not_found("the other process is gone");
  if (got < 0) return system_error("recvmsg");
  if (got == 0) return Status::not_found("the other process is gone");
  Packet packet{{buffer_.get(), static_cast<std::size_t>(got)}, take_descriptor(message)};
  if ((message.msg_flags & MSG_TRUNC) != 0) return Status::corruption("a packet is too long");
  return packet;
}

bool Channel::has_packet() const {
  // recvmsg, since the worker's sandbox knows no poll. A descriptor in the packet is not taken by a peek.
  std::byte first{};
  iovec part{&first, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return ::recvmsg(socket_.get(), &message, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

}  // namespace nvmdb::ingest::protocol
