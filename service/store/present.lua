-- A seat is there for a while from now on.
--
-- KEYS  presence     ARGV  1 the seat  2 seconds
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], string.format('%d', (time[1] + ARGV[2]) * 1000), ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
