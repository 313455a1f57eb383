// A vendor's library for the tests that find libraries: SHUNT_TEST_PART is its number. Each has a
// function of its own and one that all have. That of a twin has vendor_is_twin(), too.
#define SHUNT_TEST_JOIN(a, b) a##b
#define SHUNT_TEST_NAME(a, b) SHUNT_TEST_JOIN(a, b)

extern "C" int SHUNT_TEST_NAME(vendor_part_, SHUNT_TEST_PART)() {
  return SHUNT_TEST_PART;
}
extern "C" int vendor_any_part() {
  return SHUNT_TEST_PART;
}
#ifdef SHUNT_TEST_TWIN
extern "C" int vendor_is_twin() {
  return 1;
}
#else
/// Never defined: a library that is bound lazily can be loaded all the same.
extern "C" int vendor_missing();
extern "C" int vendor_calls_missing() {
  return vendor_missing();
}
#endif
