# The kernels of math_test, compiled like those of the backend.
include(${PROJECT_SOURCE_DIR}/src/backends/cuda/kernels.cmake)
shunt_cuda_ptx(kernels math_kernels base ${CMAKE_CURRENT_LIST_DIR}/math_kernels.cu)
list(APPEND backend_test_parts ${kernels})
# The vendor's header declares names of ours: its test is compiled by itself.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/symbols_vendor_test.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
