#pragma once

/// The variables that say how OCI Object Storage is reached and with which credentials:
/// docs/stores/oci.md tells what each does.

namespace mdstream::inline v0::detail::oci::variable {

inline constexpr const char* cli_config_file = "OCI_CLI_CONFIG_FILE";
inline constexpr const char* config_file = "OCI_CONFIG_FILE";
inline constexpr const char* profile = "OCI_CLI_PROFILE";
inline constexpr const char* user = "OCI_CLI_USER";
inline constexpr const char* tenancy = "OCI_CLI_TENANCY";
inline constexpr const char* fingerprint = "OCI_CLI_FINGERPRINT";
inline constexpr const char* key_file = "OCI_CLI_KEY_FILE";
inline constexpr const char* key_content = "OCI_CLI_KEY_CONTENT";
inline constexpr const char* pass_phrase = "OCI_CLI_PASSPHRASE";
inline constexpr const char* security_token_file = "OCI_CLI_SECURITY_TOKEN_FILE";
inline constexpr const char* auth = "OCI_CLI_AUTH";

inline constexpr const char* resource_version = "OCI_RESOURCE_PRINCIPAL_VERSION";
inline constexpr const char* resource_token = "OCI_RESOURCE_PRINCIPAL_RPST";
inline constexpr const char* resource_key = "OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM";
inline constexpr const char* resource_pass_phrase = "OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM_PASSPHRASE";
inline constexpr const char* resource_region = "OCI_RESOURCE_PRINCIPAL_REGION";

inline constexpr const char* kubernetes_host = "KUBERNETES_SERVICE_HOST";
inline constexpr const char* kubernetes_token = "OCI_KUBERNETES_SERVICE_ACCOUNT_TOKEN_PATH";
inline constexpr const char* kubernetes_certificate = "OCI_KUBERNETES_SERVICE_ACCOUNT_CERT_PATH";

inline constexpr const char* cli_region = "OCI_CLI_REGION";
inline constexpr const char* region = "OCI_REGION";
inline constexpr const char* endpoint = "OCI_CLI_ENDPOINT";
inline constexpr const char* realm = "OCI_DEFAULT_REALM";

inline constexpr const char* metadata = "OCI_METADATA_BASE_URL";
inline constexpr const char* federation = "OCI_SDK_AUTH_CLIENT_REGION_URL";

}  // namespace mdstream::inline v0::detail::oci::variable
