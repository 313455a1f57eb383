// Addresses in texts, as Jinja2's filter urlize finds them.
#pragma once

#include <string_view>

namespace shunt::text::jinja {

/// Whether all of the text is an address of the web: with "http://", "https://" or "www.", or a
/// name under a known domain such as "example.com".
bool is_web_address(std::string_view text);

/// Whether all of the text is an address of mail.
bool is_mail_address(std::string_view text);

/// Whether it is the beginning of addresses of a kind, such as "ftp://" or "tel:".
bool is_scheme(std::string_view text);

}  // namespace shunt::text::jinja
