# The token that a plugin and the library must share: build/include/shunt/abi_token.h.
file(GLOB interface_headers CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/include/shunt/*.h ${CMAKE_SOURCE_DIR}/src/ops/*/*.h
  ${CMAKE_SOURCE_DIR}/src/device/*.h)
list(APPEND interface_headers ${SHUNT_BACKEND_HEADERS})
list(REMOVE_DUPLICATES interface_headers)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${interface_headers})
set(hashes "")
foreach(header IN LISTS interface_headers)
  file(SHA256 ${header} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 SHUNT_INTERFACE_HASH "${hashes}")
string(SUBSTRING ${SHUNT_INTERFACE_HASH} 0 16 SHUNT_INTERFACE_HASH)
configure_file(${CMAKE_SOURCE_DIR}/cmake/abi_token.h.in ${CMAKE_BINARY_DIR}/include/shunt/abi_token.h @ONLY)
