#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cuda/call.h"
#include "cuda/settings.h"

namespace cuda_twin {

CUresult device_of(CUdevice ordinal, Device*& device) {
  Driver& state = driver();
  if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= state.devices.size()) {
    return refuse(CUDA_ERROR_INVALID_DEVICE, "there is no such device");
  }
  device = state.devices[static_cast<std::size_t>(ordinal)].get();
  return CUDA_SUCCESS;
}

namespace {

/// Whether both are of one profile.
bool are_alike(const Device& one, const Device& other) {
  return std::string_view(one.profile->name) == other.profile->name;
}

}  // namespace

bool are_peers(const Device& one, const Device& other) {
  const std::int64_t rule = setting(Setting::kPeers);
  if (&one == &other || rule == kPeersOff) return false;
  return rule == kPeersOn || are_alike(one, other);
}

namespace {

// Each device has a bus of its own.
constexpr int kFirstBus = 1;

/// Atomics of one device on another's memory need a direct link, which unlike devices lack.
int peer_attribute(CUdevice_P2PAttribute attribute, const Device& from, const Device& to) {
  switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      return are_peers(from, to) ? 1 : 0;
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
      return are_peers(from, to) && are_alike(from, to) ? 1 : 0;
    default:
      return 0;
  }
}

template <class T>
CUresult need(const T* result) {
  return result == nullptr ? refuse(CUDA_ERROR_INVALID_VALUE, "the result is null") : CUDA_SUCCESS;
}

CUresult copy_text(char* to, int length, const char* text) {
  if (to == nullptr || length <= 0) return refuse(CUDA_ERROR_INVALID_VALUE, "no room for the text");
  std::snprintf(to, static_cast<std::size_t>(length), "%s", text);
  return CUDA_SUCCESS;
}

CUresult uuid_of(CUuuid* uuid, CUdevice device) {
  Device* found = nullptr;
  CUDA_TWIN_TRY(need(uuid));
  CUDA_TWIN_TRY(device_of(device, found));
  std::memcpy(uuid->bytes, "CUDA twin dev ", 14);
  uuid->bytes[14] = static_cast<char>(found->sm());
  uuid->bytes[15] = static_cast<char>(found->ordinal);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace cuda_twin

using namespace cuda_twin;

extern "C" {

CUresult cuDeviceGetCount(int* count) {
  return call(__func__, [&]() -> CUresult {
    CUDA_TWIN_TRY(need(count));
    *count = static_cast<int>(driver().devices.size());
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return call(__func__, [&]() -> CUresult {
    Device* found = nullptr;
    CUDA_TWIN_TRY(need(device));
    CUDA_TWIN_TRY(device_of(ordinal, found));
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return call(__func__, [&]() -> CUresult {
    Device* found = nullptr;
    CUDA_TWIN_TRY(device_of(device, found));
    return copy_text(name, length, found->profile->device_name);
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return call(__func__, [&] { return uuid_of(uuid, device); });
}

// The form before 11.4.
#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return call(__func__, [&] { return uuid_of(uuid, device); });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return call(__func__, [&]() -> CUresult {
    Device* found = nullptr;
    CUDA_TWIN_TRY(need(bytes));
    CUDA_TWIN_TRY(device_of(device, found));
    *bytes = found->memory_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return call(__func__, [&]() -> CUresult {
    Device* found = nullptr;
    CUDA_TWIN_TRY(need(value));
    CUDA_TWIN_TRY(device_of(device, found));
    if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
      *value = kFirstBus + found->ordinal;
      return CUDA_SUCCESS;
    }
    const auto known = attribute_of(*found->profile, attribute);
    if (!known) return refuse(CUDA_ERROR_INVALID_VALUE, "there is no such attribute");
    *value = *known;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  return call(__func__, [&]() -> CUresult {
    Device* found = nullptr;
    CUDA_TWIN_TRY(device_of(device, found));
    char text[16];
    std::snprintf(text, sizeof text, "0000:%02X:00.0", static_cast<unsigned>(kFirstBus + device));
    return copy_text(id, length, text);
  });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  return call(__func__, [&]() -> CUresult {
    CUDA_TWIN_TRY(need(device));
    CUDA_TWIN_TRY(need(id));
    const char* bus = std::strchr(id, ':');
    // "bus:device.function" or "domain:bus:device.function".
    bus = bus != nullptr && std::strchr(bus + 1, ':') != nullptr ? bus + 1 : id;
    Device* found = nullptr;
    CUDA_TWIN_TRY(device_of(static_cast<int>(std::strtol(bus, nullptr, 16)) - kFirstBus, found));
    *device = found->ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return call(__func__, [&]() -> CUresult {
    Device* found = nullptr;
    Device* other = nullptr;
    CUDA_TWIN_TRY(need(can));
    CUDA_TWIN_TRY(device_of(device, found));
    CUDA_TWIN_TRY(device_of(peer, other));
    *can = are_peers(*found, *other) ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice from,
                                 CUdevice to) {
  return call(__func__, [&]() -> CUresult {
    Device* source = nullptr;
    Device* target = nullptr;
    CUDA_TWIN_TRY(need(value));
    CUDA_TWIN_TRY(device_of(from, source));
    CUDA_TWIN_TRY(device_of(to, target));
    if (from == to) return refuse(CUDA_ERROR_INVALID_DEVICE, "a device is no peer of its own");
    if (attribute < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ||
        attribute > CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED) {
      return refuse(CUDA_ERROR_INVALID_VALUE, "there is no such attribute");
    }
    *value = peer_attribute(attribute, *source, *target);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
