//! The built-in log formats, as the manual spells them out (sections 8.2.1 to 8.2.4). Data only.

/// Neither `option tcplog` nor `option httplog`, in HTTP mode.
pub const DEFAULT_HTTP: &str = "Connect from %ci:%cp to %fi:%fp (%f/HTTP)";

/// Neither `option tcplog` nor `option httplog`, in TCP mode.
pub const DEFAULT_TCP: &str = "Connect from %ci:%cp to %fi:%fp (%f/TCP)";

/// `option tcplog`
pub const TCP: &str = "%ci:%cp [%t] %ft %b/%s %Tw/%Tc/%Tt %B %ts %ac/%fc/%bc/%sc/%rc %sq/%bq";

/// `option httplog`
pub const HTTP: &str = "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc \
                        %ac/%fc/%bc/%sc/%rc %sq/%bq %hr %hs %{+Q}r";

/// `option httplog clf`
pub const CLF: &str = "%{+Q}o %{-Q}ci - - [%trg] %r %ST %B \"\" \"\" %cp %ms %ft %b %s %TR %Tw %Tc %Tr %Ta \
                       %tsc %ac %fc %bc %sc %rc %sq %bq %CC %CS %hrl %hsl";

/// `option httpslog`
pub const HTTPS: &str = "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc \
                         %ac/%fc/%bc/%sc/%rc %sq/%bq %hr %hs %{+Q}r \
                         %[fc_err]/%[ssl_fc_err,hex]/%[ssl_c_err]/%[ssl_c_ca_err]/%[ssl_fc_is_resumed] \
                         %[ssl_fc_sni]/%sslv/%sslc";

/// `option httplog json`: Weir's own; the names are those of the fields in section 8.2.3.
pub const JSON: &str = "%{+json}o %(time)tiso %(unique_id)ID %(client_ip)ci %(client_port)cp \
                        %(frontend)ft %(backend)b %(server)s %(method)HM %(uri)HU %(version)HV \
                        %(status)ST %(bytes_read)B %(bytes_uploaded)U %(termination_state)tsc \
                        %(TR)TR %(Tw)Tw %(Tc)Tc %(Tr)Tr %(Ta)Ta %(actconn)ac %(feconn)fc \
                        %(beconn)bc %(srv_conn)sc %(retries)rc %(srv_queue)sq %(backend_queue)bq \
                        %(captured_request_cookie)CC %(captured_response_cookie)CS \
                        %(captured_request_headers)hr %(captured_response_headers)hs \
                        %(ssl_version)sslv %(ssl_ciphers)sslc";
